"""The loaders of data, on made-up files in the documented formats (nothing of R6A exists here), and stand-ins."""

import functools
import gzip
import http.server
import os
import threading

import numpy as np
import pooch
import pytest

from bandits_lib import data, instances

USERS = [(0.1, 0.2, 0.3, 0.4, 0.0), (0.999958, 0.000012, 0.0, 0.000006, 0.000023)]
ARTICLES = {"109498": (0.3, 0.1, 0.2, 0.2, 0.2), "109509": (0.0, 0.5, 0.5, 0.0, 0.0)}


def group(name, memberships):
    """`|name 2:... 6:... 1:1.000000`, the constant last, as in the file."""
    return f"|{name} " + " ".join(f"{i}:{value:.6f}" for i, value in enumerate(memberships, start=2)) + " 1:1.000000"


def line(displayed, click, user=USERS[0], articles=ARTICLES):
    pool = " ".join(group(name, memberships) for name, memberships in articles.items())
    return f"1241160900 {displayed} {click} {group('user', user)} {pool}\n"


GOOD = line("109498", 0) + line("109509", 1, USERS[1])


def write(tmp_path, text, name="log"):
    path = tmp_path / name
    opened = gzip.open if name.endswith(".gz") else open
    with opened(path, "wt") as file:
        file.write(text)
    return path


@pytest.mark.parametrize("name", ["log", "log.gz"])
def test_features_are_products_of_user_and_displayed_article(tmp_path, name):
    log = data.click_log(write(tmp_path, GOOD, name))
    assert log.features.shape == (2, 36) and log.clicks.tolist() == [0.0, 1.0] and log.skipped == 0
    for row, user, article in zip(log.features, USERS, ARTICLES.values(), strict=True):
        np.testing.assert_array_equal(row.reshape(6, 6), np.outer((1, *user), (1, *article)))


def test_most_stops_early(tmp_path):
    assert len(data.click_log(write(tmp_path, GOOD + "rubbish\n"), most=2).clicks) == 2


BAD = {
    "three fields": (GOOD.replace("109498 0 |user", "109498 |user", 1), "line 1: expected `timestamp article click"),
    "click": (line("109498", 2), "line 1: the click must be 0 or 1, got '2'"),
    "no user": (GOOD + line("109498", 0).replace("|user", "|visitor"), r"line 3: expected \|user and its features"),
    "not shown": (GOOD + line("109453", 0), "line 3: the displayed article '109453' is not among the articles"),
    "a prefix": (line("1094", 0), "line 1: the displayed article '1094' is not among the articles"),
    "missing feature": (line("109498", 0).replace(" 3:0.200000", "", 1), "line 1: the user must have the features"),
    "twice": (line("109498", 0).replace(" 3:", " 2:", 1), "line 1: the user must have the features 1 to 6, each once"),
    "feature 7": (line("109498", 0).replace(" 3:0.1", " 7:0.1"), "line 1: article '109498' has '7:0.100000' where"),
    "no number": (line("109498", 0).replace("0.200000", "x", 1), "line 1: could not convert string to float"),
    "not finite": (line("109498", 0).replace("0.200000", "nan", 1), "line 1: the user must have .* each once and fin"),
    "no constant": (line("109498", 0).replace("1:1.0", "1:0.0", 1), "line 1: the user must have a positive constant"),
    "empty line": (GOOD + "\n", "line 3: expected `timestamp article click"),
    "empty file": ("", r"holds no record \(0 lines of another shape\)"),
}


@pytest.mark.parametrize(("text", "words"), BAD.values(), ids=BAD)
def test_malformed_lines_are_refused_by_number(tmp_path, text, words):
    with pytest.raises(ValueError, match=words):
        data.click_log(write(tmp_path, text))


def test_malformed_lines_can_be_skipped_and_are_counted(tmp_path):
    log = data.click_log(write(tmp_path, "rubbish\n" + GOOD + "\n"), malformed="skip")
    assert log.skipped == 2 and len(log.clicks) == 2
    with pytest.raises(ValueError, match=r"holds no record \(1 lines"):
        data.click_log(write(tmp_path, "rubbish\n"), malformed="skip")
    with pytest.raises(ValueError, match="malformed must be one of"):
        data.click_log(tmp_path / "log", malformed="ignore")


def test_data_file_looks_into_the_folder_that_the_environment_names(tmp_path, monkeypatch):
    monkeypatch.delenv("BANDITS_DATA", raising=False)
    assert data.data_file("log") is None
    monkeypatch.setenv("BANDITS_DATA", str(tmp_path))
    assert data.data_file("log") is None
    packed = write(tmp_path, GOOD, "log.gz")
    assert data.data_file("log") == packed
    assert data.data_file("log") == packed and data.data_file(write(tmp_path, GOOD).name) == tmp_path / "log"
    monkeypatch.setenv("BANDITS_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(ValueError, match="BANDITS_DATA must name a folder that exists"):
        data.data_file("log")


def test_ridge_minimises_the_penalised_squares():
    rng = np.random.default_rng(0)
    features, targets = rng.standard_normal((50, 4)), rng.standard_normal(50)
    theta = data.ridge(features, targets, regularisation=2.0)
    gradient = features.T @ (features @ theta - targets) + 2.0 * theta
    np.testing.assert_allclose(gradient, 0, atol=1e-12)
    with pytest.raises(ValueError, match="equally long"):
        data.ridge(features, targets[:-1])
    with pytest.raises(ValueError, match="regularisation must be positive"):
        data.ridge(features, targets, regularisation=0)


@pytest.mark.parametrize("seed", range(5))
def test_stand_in_has_the_published_shape(seed):
    log = data.click_log_stand_in(np.random.default_rng(seed))
    pairs = log.features.reshape(-1, 6, 6)
    users, articles = pairs[:, :, 0], pairs[:, 0, :]
    np.testing.assert_allclose(pairs, users[:, :, None] * articles[:, None, :])
    for memberships in (users, articles):
        np.testing.assert_array_equal(memberships[:, 0], 1)
        np.testing.assert_allclose(memberships[:, 1:].sum(axis=1), 1, atol=5e-6)
    assert set(np.unique(log.clicks)) == {0.0, 1.0} and log.skipped == 0
    rates = log.features @ data.ridge(log.features, log.clicks)
    assert 0 < rates.min() and rates.max() < 0.11


def test_stand_in_refuses_no_records():
    with pytest.raises(ValueError, match="records and articles must be at least 1"):
        data.click_log_stand_in(np.random.default_rng(0), records=0)


# --- the instance made of a click log


@pytest.fixture(scope="module")
def stand_in():
    log = data.click_log_stand_in(np.random.default_rng(0), records=20_000)
    return log.features, data.ridge(log.features, log.clicks)


def test_click_through_takes_the_best_and_others_with_a_gap(stand_in):
    features, theta = stand_in
    problem = instances.click_through(features, theta, np.random.default_rng(1))
    assert problem.arms.shape == (40, 25) and np.linalg.matrix_rank(problem.arms) == 25
    assert problem.best_item == 0 and problem.noise == "bernoulli" and problem.link == "identity"
    assert problem.gaps[1:].min() >= 0.01
    rates = features @ theta
    assert problem.means[0] == pytest.approx(rates.max(), abs=1e-6)
    assert np.abs(rates[:, None] - problem.means).min(axis=0).max() < 1e-6, "every arm is a record"
    norms = np.linalg.norm(features, axis=1)
    assert np.abs(norms[:, None] - np.linalg.norm(problem.arms, axis=1)).min(axis=0).max() < 1e-4, "an isometry"


def test_click_through_keeps_rounding_errors_if_asked(stand_in):
    problem = instances.click_through(*stand_in, np.random.default_rng(1), tol=0)
    assert problem.arms.shape[1] > 25


def test_click_through_needs_enough_records(stand_in):
    features, theta = stand_in
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match="n must be an integer"):
        instances.click_through(features, theta, rng, n=1)
    with pytest.raises(ValueError, match="features hold 0 such records"):
        instances.click_through(features, theta, rng, min_gap=0.5)
    with pytest.raises(ValueError, match="must span 25 dimensions"):
        instances.click_through(features, theta, rng, n=20)
    copies = np.vstack([features[:1], np.repeat(features[1:2], 50, axis=0)])
    with pytest.raises(ValueError, match="no 3 records in 1,000 draws"):
        instances.click_through(copies, theta, rng, n=3, min_gap=0.0)


# --- automobile and electric motor (azizi2022), on made-up files in their format, and on the real ones where given

CAR = "3,?,maker,gas,std,two,convertible,rwd,front,88.60,168.80,{width},48.80,{weight},dohc,four,{engine},mpfi,"
CAR += "3.47,2.68,9.00,111,5000,{city},{highway},{price}\n"
CARS = [
    {"width": 60, "weight": 2000, "engine": 100, "city": 30, "highway": 40, "price": 5000},
    {"width": 70, "weight": 4000, "engine": 300, "city": 10, "highway": 20, "price": 45000},
    {"width": 65, "weight": 2500, "engine": 200, "city": 20, "highway": 25, "price": 15000},
    {"width": 66, "weight": 2500, "engine": 200, "city": 20, "highway": 25, "price": "?"},
]
HOW_TO_GET = f"""BANDITS_DATA names no folder of real files. Put {data.AUTOMOBILE} ({data.AUTOMOBILE_HOME})
and {data.MOTOR[0]} (https://www.kaggle.com/datasets/wkirgsn/electric-motor-temperature) into one,
export BANDITS_DATA=<that folder>, and run again."""
needs_data = pytest.mark.skipif("BANDITS_DATA" not in os.environ, reason=HOW_TO_GET)


def car_file(tmp_path, rows=CARS):
    return write(tmp_path, "".join(CAR.format(**row) for row in rows), data.AUTOMOBILE)


def test_cars_are_rescaled_and_those_without_price_left_out(tmp_path):
    cars = data.automobile(car_file(tmp_path))
    np.testing.assert_allclose(cars.features[0], [0, 0, 0, 1, 1])
    np.testing.assert_allclose(cars.features[1], [1, 1, 1, 0, 0])
    np.testing.assert_allclose(cars.features[2], [0.5, 0.25, 0.5, 0.5, 0.25])
    np.testing.assert_allclose(cars.values, [0, 1, 0.25])
    np.testing.assert_allclose(data.automobile(car_file(tmp_path), price="raw").values, [5000, 45000, 15000])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a,b\n", "line 1: expected 26 columns, got 2"),
        (CAR.format(**CARS[0]) + CAR.format(**(CARS[1] | {"price": "dear"})), "line 2: could not convert"),
        ("", "holds 0 cars of known price"),
    ],
)
def test_car_files_of_another_shape_are_refused(tmp_path, text, words):
    with pytest.raises(ValueError, match=words):
        data.automobile(write(tmp_path, text))


def test_a_car_file_that_is_not_the_published_one_is_refused(tmp_path, monkeypatch):
    car_file(tmp_path)
    monkeypatch.setenv("BANDITS_DATA", str(tmp_path))
    with pytest.raises(ValueError, match="must be the published file, of sha256 125db8bd"):
        data.automobile_file()


def serve(folder, monkeypatch, sha256):
    """Make `folder` the home of the car file, of the hash given, and its parent pooch's cache."""
    monkeypatch.delenv("BANDITS_DATA", raising=False)
    monkeypatch.setattr(data, "AUTOMOBILE_SHA256", sha256)
    monkeypatch.setattr(data.pooch.core, "os_cache", lambda name: folder.parent / "cache")
    handler = functools.partial(QuietHandler, directory=str(folder))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setattr(data, "AUTOMOBILE_HOME", f"http://127.0.0.1:{server.server_address[1]}/")
    return server


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *arguments):
        pass


def test_cars_are_fetched_once_and_checked(tmp_path, monkeypatch):
    home = tmp_path / "home"
    home.mkdir()
    path = car_file(home)
    server = serve(home, monkeypatch, pooch.file_hash(str(path)))
    try:
        fetched = data.automobile_file()
        assert fetched.parent == tmp_path / "cache" and fetched.read_text() == path.read_text()
    finally:
        server.shutdown()
        server.server_close()
    assert data.automobile_file() == fetched, "the second time without a server"


def test_a_fetched_file_of_another_content_counts_as_none(tmp_path, monkeypatch):
    home = tmp_path / "home"
    home.mkdir()
    car_file(home)
    server = serve(home, monkeypatch, "0" * 64)
    try:
        assert data.automobile_file() is None
    finally:
        server.shutdown()
        server.server_close()
    assert data.automobile_file() is None, "nor without a network"


MOTOR = "ambient,coolant,u_d,pm,profile_id\n-1,0,5,-2,4\n1,0,6,0,4\n0,0,9,2,4\n"


def test_motor_rows_keep_the_measurements_that_are_there(tmp_path, monkeypatch):
    path = write(tmp_path, MOTOR, "measures_v2.csv")
    rows = data.electric_motor(path)
    np.testing.assert_allclose(rows.features, [[0, 0, 0], [1, 0, 0.25], [0.5, 0, 1]])
    np.testing.assert_allclose(rows.values, [0, 0.5, 1])
    np.testing.assert_allclose(data.electric_motor(path, temperature="raw").values, [-2, 0, 2])
    monkeypatch.setenv("BANDITS_DATA", str(tmp_path))
    assert data.motor_file() == path
    whole = write(tmp_path, MOTOR, "pmsm_temperature_data.csv")
    assert data.motor_file() == whole
    monkeypatch.delenv("BANDITS_DATA")
    assert data.motor_file() is None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a,b\n1,2\n", "must have the columns pm and ambient"),
        ("pm\n1\n", "must have the columns pm and ambient"),
        ("ambient,pm\n1,2\n,3\n", r"must be finite; .*\[1, 0\] is nan"),
    ],
)
def test_motor_files_of_another_shape_are_refused(tmp_path, text, words):
    with pytest.raises(ValueError, match=words):
        data.electric_motor(write(tmp_path, text))


def test_regression_stand_in_fits_roughly_and_fills_the_unit_interval():
    for shape in ((201, 5), (3000, 10)):
        rows = data.regression_stand_in(np.random.default_rng(0), rows=shape[0], d=shape[1])
        assert rows.features.shape == shape and rows.values.shape == shape[:1]
        for column in (*rows.features.T, rows.values):
            assert column.min() == 0 and column.max() == 1
        fitted = rows.features @ np.linalg.lstsq(rows.features, rows.values, rcond=None)[0]
        assert 0.02 < np.std(rows.values - fitted) < 0.2
    with pytest.raises(ValueError, match="rows must be at least 2"):
        data.regression_stand_in(np.random.default_rng(0), rows=1)


@needs_data
def test_the_published_cars():
    cars = data.automobile(data.automobile_file())
    assert cars.features.shape == (201, 5) and len(np.unique(cars.features, axis=0)) == 185
    dollars = data.automobile(data.automobile_file(), price="raw").values
    assert (dollars.min(), dollars.max()) == (5118, 45400)


@needs_data
def test_the_published_motor():
    path = data.motor_file()
    if path is None:
        pytest.skip(f"BANDITS_DATA holds none of {', '.join(data.MOTOR)}. {data.HOW_TO_GET_MOTOR}")
    rows = data.electric_motor(path)
    assert rows.features.shape[1] in (10, 11) and len(rows.values) >= 3000
    assert rows.features.min() == 0 and rows.features.max() == 1
