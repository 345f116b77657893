"""Real data of azizi2022's experiments, from the user's own files, and simulated stand-ins for missing files.

The environment variable BANDITS_DATA names a folder of files. The project ships none of them.
"""

import os
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import pooch

from bandits_lib.checks import check_matrix, check_option

AUTOMOBILE = "imports-85.data"  # J. Schlimmer, Automobile, UCI Machine Learning Repository, 1987; CC BY 4.0
AUTOMOBILE_HOME = "https://archive.ics.uci.edu/ml/machine-learning-databases/autos/"
AUTOMOBILE_SHA256 = "125db8bd36a84801f7223faf54071d15f85f26c13a9a7aee63375ac46098fb7f"
AUTOMOBILE_COLUMNS = {"width": 11, "curb-weight": 13, "engine-size": 16, "city-mpg": 23, "highway-mpg": 24}
PRICE, AUTOMOBILE_WIDTH = 25, 26  # column of the price, number of columns

MOTOR = ("pmsm_temperature_data.csv", "measures_v2.csv", "motor_dbnR_session60_3000.csv")  # whole, whole, 3,000 rows
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
    """The file of that name, or with .gz behind it, in the folder that BANDITS_DATA names; None if it is not there."""
    folder = os.environ.get("BANDITS_DATA")
    if not folder:
        return None
    if not Path(folder).is_dir():
        raise ValueError(f"BANDITS_DATA must name a folder that exists; got {folder!r}: correct it or unset it")
    paths = (Path(folder) / name, Path(folder) / f"{name}.gz")
    return next((path for path in paths if path.is_file()), None)


def automobile_file() -> Path | None:
    """Return the Automobile file, from the folder that BANDITS_DATA names or fetched once from UCI (azizi2022, E.2).

    Returns
    -------
    pathlib.Path or None
        The file, or None if it is neither there nor to be had.

    Raises
    ------
    ValueError
        If BANDITS_DATA names a folder that does not exist, or the file in it is not the published one (by sha256).
    """
    path = data_file(AUTOMOBILE)
    if path is None:
        try:
            return Path(pooch.retrieve(AUTOMOBILE_HOME + AUTOMOBILE, f"sha256:{AUTOMOBILE_SHA256}", AUTOMOBILE))
        except (OSError, ValueError):  # no network, or not the file that was published
            return None
    if pooch.file_hash(str(path)) != AUTOMOBILE_SHA256:
        raise ValueError(
            f"{path} must be the published file, of sha256 {AUTOMOBILE_SHA256}; it has another: remove it to have it "
            "fetched, or read it with automobile(path)"
        )
    return path


def automobile(path: str | os.PathLike[str], *, price: str = "scaled") -> Regression:
    """Read the cars of azizi2022, appendix E.2: width, curb weight, engine size, city and highway mpg, and the price.

    Parameters
    ----------
    path : str or path-like
        The file of the UCI repository (Schlimmer 1987).
    price : {"scaled", "raw"}, default "scaled"
        Price scaled to [0, 1], as the features are, or in dollars.

    Returns
    -------
    Regression
        `features` (n, 5) and `values` (n,) of the cars whose price and features are known, 201 of 205.

    Raises
    ------
    ValueError
        If the file has another shape, naming the line, holds fewer than two such cars, or for an unknown option.

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
            raise ValueError(f"{path}, line {number}: expected {AUTOMOBILE_WIDTH} columns, got {len(fields)}")
        wanted = [fields[column] for column in (*AUTOMOBILE_COLUMNS.values(), PRICE)]
        if "?" in wanted:
            continue
        try:
            rows.append([float(field) for field in wanted])
        except ValueError as error:
            raise ValueError(f"{path}, line {number}: {error}") from None
    if len(rows) < 2:
        raise ValueError(f"{path} holds {len(rows)} cars of known price: is it {AUTOMOBILE} of the UCI repository?")
    return _regression(np.array(rows), price)


def motor_file() -> Path | None:
    """Return the electric motor file (azizi2022, E.2) of BANDITS_DATA, whole or else a sample of 3,000 rows.

    Returns
    -------
    pathlib.Path or None
        The file, or None if it is not there.

    Raises
    ------
    ValueError
        If BANDITS_DATA names a folder that does not exist.

    Examples
    --------
    >>> motor_file() is None  # in a folder without it
    True
    """
    return next((path for path in map(data_file, MOTOR) if path is not None), None)


def electric_motor(path: str | os.PathLike[str], *, temperature: str = "scaled", target: str = "pm") -> Regression:
    """Read the electric motor of azizi2022, appendix E.2: 11 measurements and the temperature of the magnet (pm).

    Parameters
    ----------
    path : str or path-like
        The file (Kirchgaessner, on Kaggle), or a sample of its rows. Columns that it lacks are left out.
    temperature : {"scaled", "raw"}, default "scaled"
        Values scaled to [0, 1], as the features are, or as in the file.
    target : {"pm", "motor_speed"}, default "pm"
        Column of the values: the temperature, as in the text, or the speed, as in the published code, where the
        temperature is a feature.

    Returns
    -------
    Regression
        `features` (n, d) and `values` (n,), a row for every row of the file.

    Raises
    ------
    ValueError
        For a file without the target or without any of the features, for missing entries, or an unknown option.

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
    """Features and values (the last column) of `table` (n, d + 1), rescaled to [0, 1] unless `last` is "raw"."""
    low, high = table.min(axis=0), table.max(axis=0)
    scaled = (table - low) / np.where(high > low, high - low, 1)
    return Regression(scaled[:, :-1].copy(), (table if last == "raw" else scaled)[:, -1].copy())


def regression_stand_in(rng: np.random.Generator, *, rows: int = 201, d: int = 5) -> Regression:
    """Simulate a stand-in for the two data sets of azizi2022, appendix E.2, in their shape and not in their content.

    Rows differ in a size. Features rise or fall with it, and the values rise faster than linearly, so that a linear
    model fits roughly.

    Parameters
    ----------
    rng : numpy.random.Generator
        Draws everything.
    rows : int, default 201
        Number of rows, at least 2 (cars: 201; motor: 3,000).
    d : int, default 5
        Number of features, at least 1 (cars: 5; motor: 10).

    Returns
    -------
    Regression
        `features` (rows, d) and `values` (rows,) that fill [0, 1].

    Raises
    ------
    ValueError
        For rows < 2 or d < 1.

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
