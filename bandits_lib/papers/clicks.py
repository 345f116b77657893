"""The click log of fiez2019's experiment on click-through rates, from the user's own file, and a simulated stand-in."""

import gzip
import os
from array import array
from typing import NamedTuple

import numpy as np

from bandits_lib.checks import check_matrix, check_option, check_positive

CLICK_LOG = "ydata-fp-td-clicks-v1_0.20090501"  # 1 May 2009, the day that fiez2019 uses
HOW_TO_GET = f"""Yahoo! Webscope dataset R6A may not be redistributed. To run on the real clicks:
1. ask for it at https://webscope.sandbox.yahoo.com (catalogue of ratings and classification data, R6A; free for
   research, after signing Yahoo's agreement);
2. put {CLICK_LOG}.gz, as it comes, into a folder;
3. give its path as the parameter `click_log` of this notebook, and run it again."""
FEATURES = 6  # of a user, and of an article


class ClickLog(NamedTuple):
    """Records: features (n, 36), clicks (n,) of 0 or 1, and the number of lines that were skipped."""

    features: np.ndarray
    clicks: np.ndarray
    skipped: int


def click_log(path: str | os.PathLike[str], *, malformed: str = "refuse", most: int | None = None) -> ClickLog:
    """Read a day of the Yahoo! front page click log (Webscope R6A), as fiez2019 section 5 does.

    A line is `timestamp displayed click |user 2:.1 ... 6:.2 1:1.0 |article 2:.3 ... 1:1.0 |article ...`, six features
    each; only the user and the displayed article are used. Feature 6 i + j of a record is user feature i + 1 times
    article feature j + 1. Feature 1 is the constant; features 2 to 6 are memberships, which add up to 1.

    Parameters
    ----------
    path : str or path-like
        The file, plain or .gz.
    malformed : {"refuse", "skip"}, default "refuse"
        What to do with lines of another shape and with those without a positive constant, which the published code
        leaves out.
    most : int, optional
        Records at most; None reads all.

    Returns
    -------
    ClickLog
        The records in the order of the file: `features` (n, 36), `clicks` (n,) and the number of lines `skipped`.

    Raises
    ------
    ValueError
        For a malformed line, which is named (unless they are skipped), a file without records, or an unknown option.

    Examples
    --------
    >>> from pathlib import Path
    >>> line = "0 7 1 |user 2:.1 3:.2 4:.3 5:.4 6:0 1:1 |7 2:.5 3:.5 4:0 5:0 6:0 1:1"
    >>> _ = Path("log").write_text(line)
    >>> log = click_log("log")
    >>> log.features.shape, log.clicks.tolist()
    ((1, 36), [1.0])
    """
    check_option("malformed", malformed, ("refuse", "skip"))
    users, articles, clicks, skipped = array("d"), array("d"), array("b"), 0
    seen: dict[bytes, list[float]] = {}
    opened = gzip.open if str(path).endswith(".gz") else open
    with opened(path, "rb") as file:
        for number, line in enumerate(file, start=1):
            if most is not None and len(clicks) >= most:
                break
            try:
                user, article, click = _record(line, seen)
            except ValueError as error:
                if malformed == "refuse":
                    way_out = 'repair the file, or pass malformed="skip" to leave such lines out'
                    raise ValueError(f"{path}, line {number}: {error}; {way_out}") from None
                skipped += 1
                continue
            users.extend(user)
            articles.extend(article)
            clicks.append(click)
    if not clicks:
        raise ValueError(f"{path} holds no record ({skipped} lines of another shape): is it a click log of R6A?")
    return ClickLog(_products(np.array(users), np.array(articles)), np.array(clicks, dtype=float), skipped)


def _record(line, seen):
    """(user features, article features, click) of a line; ValueError says what is wrong with it."""
    head, *groups = line.split(b"|")
    fields = head.split()
    if len(fields) != 3 or not groups:
        raise ValueError("expected `timestamp article click |user ... |article ...`")
    displayed, click = fields[1], fields[2]
    if click not in (b"0", b"1"):
        raise ValueError(f"the click must be 0 or 1, got {_shown(click)}")
    if not groups[0].startswith(b"user "):
        raise ValueError(f"expected |user and its features, got |{_shown(groups[0])}")
    marker = displayed + b" "
    article = next((group for group in groups[1:] if group.startswith(marker)), None)
    if article is None:
        raise ValueError(f"the displayed article {_shown(displayed)} is not among the articles with features")
    if article not in seen:
        seen[article] = _features(article, f"article {_shown(displayed)}")
    return _features(groups[0], "the user"), seen[article], int(click)


def _features(group, owner):
    """The six features of `name 2:.1 ... 6:.2 1:1.0`, in the order of their numbers."""
    values = [np.nan] * FEATURES
    tokens = group.split()[1:]
    for token in tokens:
        index, colon, value = token.partition(b":")
        if not colon or index not in (b"1", b"2", b"3", b"4", b"5", b"6"):
            raise ValueError(f"{owner} has {_shown(token)} where a feature 1: to 6: should be")
        values[int(index) - 1] = float(value)  # a ValueError of its own if it is no number
    if len(tokens) != FEATURES or not all(map(np.isfinite, values)):
        raise ValueError(f"{owner} must have the features 1 to 6, each once and finite, got {_shown(group)}")
    if values[0] <= 0:
        raise ValueError(f"{owner} must have a positive constant (feature 1), got {values[0]}")
    return values


def _shown(text):
    """At most 60 characters of a part of a line, quoted, for a message."""
    text = text.strip().decode(errors="replace")
    return repr(text if len(text) <= 60 else text[:57] + "...")


def _products(users, articles):
    """(n, 36) products of user and article features, those of the user outermost."""
    users, articles = users.reshape(-1, FEATURES, 1), articles.reshape(-1, 1, FEATURES)
    return (users * articles).reshape(-1, FEATURES**2)


def ridge(features: np.ndarray, targets: np.ndarray, *, regularisation: float = 0.01) -> np.ndarray:
    """Fit ridge regression: the minimiser of the squared errors plus `regularisation` times the squared norm.

    Parameters
    ----------
    features : (n, d) array_like
        One row per observation.
    targets : (n,) array_like
        What was observed.
    regularisation : float, default 0.01
        Weight of the squared norm, positive; 0.01 in fiez2019.

    Returns
    -------
    (d,) float array
        The minimiser.

    Raises
    ------
    ValueError
        For lengths that differ, NaN, or a regularisation that is not positive.

    Examples
    --------
    >>> ridge(np.eye(2), [1.0, 2.0], regularisation=1.0).tolist()
    [0.5, 1.0]
    """
    features, targets = check_matrix("features", features), check_matrix("targets", np.atleast_2d(targets))[0]
    if len(features) != len(targets):
        raise ValueError(f"features and targets must be equally long; got {len(features)} and {len(targets)}")
    gram = features.T @ features + check_positive("regularisation", regularisation) * np.eye(features.shape[1])
    return np.linalg.solve(gram, features.T @ targets)


def click_log_stand_in(rng: np.random.Generator, *, records: int = 50_000, articles: int = 50) -> ClickLog:
    """Simulate a stand-in for the click log of R6A, in its published shape and not in its content.

    Users and articles have a constant and five memberships that add up to 1, rounded to six decimals as in the file.
    The click rates of the 25 pairs of groups are uniform on (0.01, 0.1), within the (0, 0.11) of fiez2019.

    Parameters
    ----------
    rng : numpy.random.Generator
        Draws everything.
    records : int, default 50,000
        Number of records, at least 1.
    articles : int, default 50
        Number of distinct articles, shown with equal probability, at least 1.

    Returns
    -------
    ClickLog
        The records.

    Raises
    ------
    ValueError
        For fewer than one record or article.

    Examples
    --------
    >>> log = click_log_stand_in(np.random.default_rng(0), records=200, articles=5)
    >>> log.features.shape, log.clicks.sum().item()
    ((200, 36), 13.0)
    """
    if records < 1 or articles < 1:
        raise ValueError(f"records and articles must be at least 1; got {records} and {articles}")
    groups = FEATURES - 1
    rates = rng.uniform(0.01, 0.1, (groups, groups))
    pool = rng.dirichlet(np.full(groups, 0.5), articles).round(6)
    users = rng.dirichlet(np.full(groups, 0.25), records).round(6)
    shown = pool[rng.integers(articles, size=records)]
    clicks = rng.random(records) < np.einsum("ni,ij,nj->n", users, rates, shown)
    constant = np.ones((records, 1))
    return ClickLog(_products(np.hstack([constant, users]), np.hstack([constant, shown])), clicks.astype(float), 0)
