"""All verdicts in one picture: a mark per sentence, whose shape and colour say the verdict."""

from bandits_lib.companion.sentences import sentences
from bandits_lib.companion.verdicts import VERDICTS

# Okabe and Ito's colours, told apart by colour-blind readers; the shapes tell them apart in print
LOOKS = dict(
    zip(
        VERDICTS,
        [("o", "#009e73"), ("^", "#56b4e9"), ("D", "#0072b2"), ("s", "#a0a0a0"), ("X", "#d55e00")],
        strict=True,
    )
)


def verdicts(axes, claims):
    """One mark per sentence, by paper (one axes each) and place (a row): shape and colour say the verdict.

    Parameters
    ----------
    axes : sequence of matplotlib.axes.Axes
        Where to draw: as many as there are papers in `claims`.
    claims : DataFrame
        Claims as `ledger.read` returns them.

    Returns
    -------
    sequence of matplotlib.axes.Axes
        The `axes`.

    Examples
    --------
    >>> from bandits_lib.companion.claims import claim
    >>> from bandits_lib.companion.rows import full
    >>> import matplotlib.pyplot as plt
    >>> found = full([claim("fiez2019_demo/a", "fiez2019", "Figure 1a", "fewer pulls", 0.5, 0.4, 0.6, (0, 1))])
    >>> verdicts([plt.subplots()[1]], found)[0].get_xlabel()
    'fiez2019'
    """
    found = sentences(claims).reset_index()
    found = found.sort_values("verdict", key=lambda column: column.map(VERDICTS.index), kind="stable")
    found = found.assign(at=found.groupby(["paper", "place"]).cumcount())
    for ax, (paper, of_paper) in zip(axes, found.sort_index().groupby("paper", sort=False), strict=True):
        places = list(dict.fromkeys(of_paper["place"]))
        for verdict, (marker, colour) in LOOKS.items():
            chosen = of_paper[of_paper["verdict"] == verdict]
            rows = chosen["place"].map(places.index)
            ax.scatter(chosen["at"], rows, marker=marker, color=colour, s=13, lw=0, label=verdict)
        labels = [place[:1].upper() + place[1:] for place in places]
        ax.set(yticks=range(len(places)), xticks=[], xlabel=paper, xlim=(-1, found["at"].max() + 1))
        ax.set_yticklabels(labels, fontsize=7)
        ax.set_ylim(len(places) - 0.5, -0.5)
        ax.grid(False)
    return axes
