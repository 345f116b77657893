"""Real data of the experiments of azizi2022 and fiez2019, read from the user's own files, and simulated stand-ins.

The environment variable BANDITS_DATA names a folder of files for azizi2022. The project does not distribute the files.
"""

import functools
import gzip
import os
from array import array
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import pooch

from bandits_lib.checks import check_dimension, check_matrix, check_option, check_positive

AUTOMOBILE = "imports-85.data"  # J. Schlimmer, Automobile, UCI Machine Learning Repository, 1987; CC BY 4.0
AUTOMOBILE_HOME = "https://archive.ics.uci.edu/ml/machine-learning-databases/autos/"
AUTOMOBILE_SHA256 = "125db8bd36a84801f7223faf54071d15f85f26c13a9a7aee63375ac46098fb7f"
AUTOMOBILE_COLUMNS = {"width": 11, "curb-weight": 13, "engine-size": 16, "city-mpg": 23, "highway-mpg": 24}
PRICE, AUTOMOBILE_WIDTH = 25, 26  # column of the price, number of columns

MOTOR = ("pmsm_temperature_data.csv", "measures_v2.csv", "motor_dbnR_session60_3000.csv")  # whole, whole, sample
MOTOR_COLUMNS: tuple[str, ...] = ("ambient", "coolant", "u_d", "u_q", "motor_speed", "torque", "i_d", "i_q")
MOTOR_COLUMNS += ("stator_yoke", "stator_tooth", "stator_winding")
HOW_TO_GET_MOTOR = f"""The electric motor temperatures (W. Kirchgaessner, Paderborn University) need an account at
https://www.kaggle.com/datasets/wkirgsn/electric-motor-temperature. To run on them, put {MOTOR[0]} or {MOTOR[1]}
into a folder, set the environment variable BANDITS_DATA to that folder, and run this notebook again."""


class Regression(NamedTuple):
    """Rows of a data set: features (n, d), each rescaled to [0, 1], and values (n,), the mean rewards."""

    features: np.ndarray
    values: np.ndarray


def data_file(name):
    """Return the path of `name` or `name`.gz in the folder BANDITS_DATA, or None if neither is there."""
    folder = os.environ.get("BANDITS_DATA")
    if not folder:
        return None
    if not Path(folder).is_dir():
        raise ValueError(f"BANDITS_DATA must name a folder that exists; got {folder!r}: correct it or unset it")
    paths = (Path(folder) / name, Path(folder) / f"{name}.gz")
    return next((path for path in paths if path.is_file()), None)


def automobile_file() -> Path | None:
    """Return the Automobile file, from the folder BANDITS_DATA or downloaded once from UCI (azizi2022, E.2).

    Returns
    -------
    pathlib.Path or None
        Path of the published file (by sha256), or None if it is not in the folder and cannot be downloaded.
    """
    path = data_file(AUTOMOBILE)
    if path is None:
        try:
            return Path(pooch.retrieve(AUTOMOBILE_HOME + AUTOMOBILE, f"sha256:{AUTOMOBILE_SHA256}", AUTOMOBILE))
        except (OSError, ValueError):  # no network, or not the file that was published
            return None
    if pooch.file_hash(str(path)) != AUTOMOBILE_SHA256:
        raise ValueError(
            f"{path} must be the published file, of sha256 {AUTOMOBILE_SHA256}; its sha256 differs: remove it, so that "
            "the published file is downloaded, or read it with automobile(path)"
        )
    return path


def automobile(path: str | os.PathLike[str], *, price: str = "scaled") -> Regression:
    """Read the cars of azizi2022, appendix E.2: width, curb weight, engine size, city and highway mpg, and the price.

    Parameters
    ----------
    path : str or path-like
        The file of the UCI repository (Schlimmer 1987).
    price : {"scaled", "raw"}, default "scaled"
        Price scaled to [0, 1], like the features, or in dollars.

    Returns
    -------
    Regression
        `features` (n, 5) and `values` (n,) of the cars whose price and features are known, 201 of 205.

    Examples
    --------
    >>> row = "0,?,a,b,c,d,e,f,g,h,170.0,{0},52.0,{1},dohc,four,{2},mpfi,3.5,2.7,9.0,111.0,5000.0,{3},{4},{5}"
    >>> cars = row.format(64.1, 2548, 130, 21, 27, 13495), row.format(65.5, 2823, 152, 19, 26, 16500)
    >>> np.savetxt("cars.data", cars, fmt="%s")
    >>> automobile("cars.data", price="raw").values.tolist()
    [13495.0, 16500.0]
    """
    check_option("price", price, ("scaled", "raw"))
    rows = []
    for number, line in enumerate(Path(path).read_text(encoding="utf-8").splitlines(), start=1):
        fields = line.split(",")
        if len(fields) != AUTOMOBILE_WIDTH:
            raise ValueError(
                f"{path}, line {number}: expected {AUTOMOBILE_WIDTH} columns, got {len(fields)}: repair the file"
            )
        wanted = [fields[column] for column in (*AUTOMOBILE_COLUMNS.values(), PRICE)]
        if "?" in wanted:
            continue
        try:
            rows.append([float(field) for field in wanted])
        except ValueError as error:
            raise ValueError(f"{path}, line {number}: {error}") from None
    if len(rows) < 2:
        raise ValueError(f"{path} has only {len(rows)} cars of known price: check that it is the UCI file {AUTOMOBILE}")
    return _regression(np.array(rows), price)


def motor_file() -> Path | None:
    """Return the electric motor file (azizi2022, E.2) in BANDITS_DATA, the whole file or else a sample of 3,000 rows.

    Returns
    -------
    pathlib.Path or None
        Path of the file, or None if it is not there.
    """
    return next((path for path in map(data_file, MOTOR) if path is not None), None)


def electric_motor(path: str | os.PathLike[str], *, temperature: str = "scaled", target: str = "pm") -> Regression:
    """Read the electric motor of azizi2022, appendix E.2: 11 measurements and the temperature of the magnet (pm).

    Parameters
    ----------
    path : str or path-like
        The file (Kirchgaessner, on Kaggle), or a sample of its rows. Missing columns are omitted.
    temperature : {"scaled", "raw"}, default "scaled"
        The returned `values` are scaled to [0, 1], like the features, or as in the file.
    target : {"pm", "motor_speed"}, default "pm"
        Column of the values: the temperature, as in the text, or the speed, as in the published code, which has the
        temperature as a feature.

    Returns
    -------
    Regression
        `features` (n, d) and `values` (n,), one row for each row of the file.

    Examples
    --------
    >>> import pandas as pd
    >>> pd.DataFrame({"ambient": [20, 25], "coolant": [18, 19], "pm": [24, 40]}).to_csv("motor.csv", index=False)
    >>> electric_motor("motor.csv", temperature="raw").values.tolist()
    [24.0, 40.0]
    """
    check_option("temperature", temperature, ("scaled", "raw"))
    check_option("target", target, ("pm", "motor_speed"))
    table = pd.read_csv(path, usecols=lambda name: name in (*MOTOR_COLUMNS, "pm"))
    features = [name for name in (*MOTOR_COLUMNS, "pm") if name != target]
    columns = [name for name in features if name in table]
    if target not in table or not columns:
        held = ", ".join(table.columns) or "none of them"
        raise ValueError(f"{path} must have the columns {target} and {', '.join(features)}; it has {held}")
    return _regression(check_matrix(str(path), table[[*columns, target]].to_numpy(dtype=float)), temperature)


def _regression(table, last):
    """Return features and values (the last column) of `table` (n, d + 1), scaled to [0, 1] unless `last` is "raw"."""
    low, high = table.min(axis=0), table.max(axis=0)
    scaled = (table - low) / np.where(high > low, high - low, 1)
    return Regression(scaled[:, :-1].copy(), (table if last == "raw" else scaled)[:, -1].copy())


def regression_stand_in(rng: np.random.Generator, *, rows: int = 201, d: int = 5) -> Regression:
    """Simulate a stand-in for the two data sets of azizi2022, appendix E.2: the same shape, but different content.

    Every row has a random size. Features rise or fall with the size, and the values rise faster than linearly, so that
    a linear model fits only approximately.

    Parameters
    ----------
    rng : numpy.random.Generator
        Generator of all random draws.
    rows, d : int
        Number of rows, at least 2 (cars: 201, the default; motor: 3,000), and of features (cars: 5; motor: 10).

    Returns
    -------
    Regression
        `features` (rows, d) and `values` (rows,), each scaled to [0, 1].

    Examples
    --------
    >>> cars = regression_stand_in(np.random.default_rng(0), rows=50)
    >>> cars.features.shape, cars.values.min().item(), cars.values.max().item()
    ((50, 5), 0.0, 1.0)
    """
    if rows < 2 or d < 1:
        raise ValueError(f"rows must be at least 2 and d at least 1; got {rows} and {d}")
    size = rng.beta(2, 4, rows)
    falling = np.arange(d) % 3 == 2
    features = np.where(falling, 1 - size[:, None], size[:, None]) + 0.1 * rng.standard_normal((rows, d))
    values = size**1.5 + 0.05 * rng.standard_normal(rows)
    return _regression(np.column_stack([features, values]), "scaled")


# --- the click log of fiez2019

CLICK_LOG = "ydata-fp-td-clicks-v1_0.20090501"  # 1 May 2009, the day that fiez2019 uses
HOW_TO_GET_CLICKS = f"""Yahoo! Webscope dataset R6A may not be redistributed. To run on the real clicks:
1. ask for it at https://webscope.sandbox.yahoo.com (catalogue of ratings and classification data, R6A; free for
   research, after signing Yahoo's agreement);
2. put {CLICK_LOG}.gz, as it comes, into a folder;
3. give its path as the parameter `click_log` of this notebook, and run it again."""
FEATURES, ARTICLES = 6, 50  # features of a user and of an article; distinct articles of the stand-in


class ClickLog(NamedTuple):
    """Records of a click log: features (n, 36), clicks (n,) of 0 or 1, and the number of skipped lines."""

    features: np.ndarray
    clicks: np.ndarray
    skipped: int


def click_log(path: str | os.PathLike[str]) -> ClickLog:
    """Read a day of the Yahoo! front page click log (Webscope R6A), as fiez2019 section 5 does.

    A line is `timestamp displayed click |user 2:.1 ... 6:.2 1:1.0 |article 2:.3 ... 1:1.0 |article ...`. The user and
    every article have six features, the constant 1 and five memberships that add up to 1; only the user and the
    displayed article are used. Feature 6 i + j of a record is user feature i + 1 times article feature j + 1. Like the
    published code, this skips lines of another shape and lines without a positive constant.

    Parameters
    ----------
    path : str or path-like
        The file, plain or .gz.

    Returns
    -------
    ClickLog
        Records in the order of the file: `features` (n, 36), `clicks` (n,) and the number of `skipped` lines.

    Examples
    --------
    >>> from pathlib import Path
    >>> line = "0 7 1 |user 2:.1 3:.2 4:.3 5:.4 6:0 1:1 |7 2:.5 3:.5 4:0 5:0 6:0 1:1"
    >>> _ = Path("log").write_text(line)
    >>> log = click_log("log")
    >>> log.features.shape, log.clicks.tolist()
    ((1, 36), [1.0])
    """
    users, articles, clicks, skipped = array("d"), array("d"), array("b"), 0
    opened = gzip.open if str(path).endswith(".gz") else open
    with opened(path, "rb") as file:
        for line in file:
            head, *groups = line.split(b"|")
            fields = head.split()
            if len(fields) != 3 or fields[2] not in (b"0", b"1") or not groups or not groups[0].startswith(b"user "):
                skipped += 1
                continue
            shown = next((group for group in groups[1:] if group.startswith(fields[1] + b" ")), b"")
            user, article = _features(groups[0]), _features(shown)
            if user is None or article is None:
                skipped += 1
                continue
            users.extend(user)
            articles.extend(article)
            clicks.append(int(fields[2]))
    if not clicks:
        raise ValueError(f"{path} holds no record ({skipped} lines of another shape): check that it is a log of R6A")
    return ClickLog(_products(np.array(users), np.array(articles)), np.array(clicks, dtype=float), skipped)


@functools.lru_cache(1024)  # articles come again and again
def _features(group):
    """Return the six features of `name 2:.1 ... 6:.2 1:1.0` in the order of their numbers, None for another shape."""
    pairs = [token.partition(b":") for token in group.split()[1:]]
    if sorted(number for number, _, _ in pairs) != [b"1", b"2", b"3", b"4", b"5", b"6"]:
        return None
    try:
        values = [float(value) for _, _, value in sorted(pairs)]
    except ValueError:  # no number
        return None
    return values if np.isfinite(values).all() and values[0] > 0 else None


def _products(users, articles):
    """Return the products (n, 36) of user and article features; the index of the article varies fastest."""
    users, articles = users.reshape(-1, FEATURES, 1), articles.reshape(-1, 1, FEATURES)
    return (users * articles).reshape(-1, FEATURES**2)


def ridge(features: np.ndarray, targets: np.ndarray, *, regularisation: float = 0.01) -> np.ndarray:
    """Fit ridge regression: minimise the sum of squared errors plus `regularisation` times the squared norm.

    Parameters
    ----------
    features, targets : (n, d) and (n,) array_like
        Features, one row per observation, and observed values.
    regularisation : float, default 0.01
        Weight of the squared norm, positive; 0.01 in fiez2019.

    Returns
    -------
    (d,) float array
        The minimiser.
    """
    features, targets = check_matrix("features", features), check_matrix("targets", np.atleast_2d(targets))[0]
    if len(features) != len(targets):
        raise ValueError(f"features and targets must be equally long; got {len(features)} and {len(targets)} rows")
    gram = features.T @ features + check_positive("regularisation", regularisation) * np.eye(features.shape[1])
    return np.linalg.solve(gram, features.T @ targets)


def click_log_stand_in(rng: np.random.Generator, *, records: int = 50_000) -> ClickLog:
    """Simulate a stand-in for the click log of R6A: the published shape, but different content.

    Users and articles have a constant and five memberships that add up to 1, rounded to six decimals as in the file.
    The click rates of the 25 pairs of groups are uniform on (0.01, 0.1), within the (0, 0.11) of fiez2019. The 50
    distinct articles are shown with equal probability.

    Parameters
    ----------
    rng, records : numpy.random.Generator, int
        Generator of all random draws, and the number of records, by default 50,000.

    Returns
    -------
    ClickLog
        The records.

    Examples
    --------
    >>> log = click_log_stand_in(np.random.default_rng(0), records=200)
    >>> log.features.shape, log.clicks.sum().item()
    ((200, 36), 9.0)
    """
    check_dimension("records", records, 1)
    groups = FEATURES - 1
    rates = rng.uniform(0.01, 0.1, (groups, groups))
    pool = rng.dirichlet(np.full(groups, 0.5), ARTICLES).round(6)
    users = rng.dirichlet(np.full(groups, 0.25), records).round(6)
    shown = pool[rng.integers(ARTICLES, size=records)]
    clicks = rng.random(records) < np.einsum("ni,ij,nj->n", users, rates, shown)
    constant = np.ones((records, 1))
    return ClickLog(_products(np.hstack([constant, users]), np.hstack([constant, shown])), clicks.astype(float), 0)
