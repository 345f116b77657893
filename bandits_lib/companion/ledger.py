"""The ledger: the claims of all notebooks in one table, the verdict of every sentence, and the pages made from it."""

from pathlib import Path

from bandits_lib.companion.faults import PAPERS as PAPERS
from bandits_lib.companion.pages import as_read, fill, fill_readme, markdown, page, totals_block
from bandits_lib.companion.picture import verdicts
from bandits_lib.companion.saved import read, read_file
from bandits_lib.companion.sentences import of_verdict, sentences, totals

__all__ = [
    "as_read",
    "fill",
    "fill_readme",
    "markdown",
    "of_verdict",
    "page",
    "read",
    "read_file",
    "save",
    "sentences",
    "totals",
    "totals_block",
    "verdicts",
]


def save(claims, out, earlier=None):
    """Write figures/claims.csv and figures/ledger.md below `out`, and the totals into README.md if `out` holds one.

    Parameters
    ----------
    claims : DataFrame
        Claims as `read` returns them.
    out : str or path-like
        Folder to write to.
    earlier : Series, optional
        As for `as_read`; it stands in ledger.md.

    Raises
    ------
    ValueError
        If there is a README without the places to be filled in.

    Examples
    --------
    >>> from bandits_lib.companion.claims import claim
    >>> from bandits_lib.companion.rows import full
    >>> save(full([claim("fiez2019_demo/a", "fiez2019", "Figure 1a", "fewer pulls", 0.5, 0.4, 0.6, (0, 1))]), ".")
    """
    out = Path(out)
    (out / "figures").mkdir(parents=True, exist_ok=True)
    claims.to_csv(out / "figures" / "claims.csv", index=False, float_format="%.17g", lineterminator="\n")
    (out / "figures" / "ledger.md").write_text(page(claims, earlier), encoding="utf-8")
    if (readme := out / "README.md").exists():
        readme.write_text(fill_readme(readme.read_text(encoding="utf-8"), claims), encoding="utf-8")
