"""The loaders of data, on made-up files in the documented formats and on the real ones where given, and stand-ins."""

import functools
import http.server
import os
import threading

import numpy as np
import pooch
import pytest

from bandits_lib import data


def write(tmp_path, text, name="file"):
    path = tmp_path / name
    path.write_text(text)
    return path


def test_data_file_looks_into_the_folder_that_the_environment_names(tmp_path, monkeypatch):
    monkeypatch.delenv("BANDITS_DATA", raising=False)
    assert data.data_file("log") is None
    monkeypatch.setenv("BANDITS_DATA", str(tmp_path))
    assert data.data_file("log") is None
    packed = write(tmp_path, "", "log.gz")
    assert data.data_file("log") == packed
    assert data.data_file("log") == packed and data.data_file(write(tmp_path, "", "log").name) == tmp_path / "log"
    monkeypatch.setenv("BANDITS_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(ValueError, match="BANDITS_DATA must name a folder that exists"):
        data.data_file("log")


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
        ("", "has only 0 cars of known price"),
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


def test_the_published_code_looks_for_the_motor_speed_and_takes_the_temperature_as_a_feature(tmp_path):
    text = "pm,ambient,motor_speed\n-2,0,10\n0,1,30\n2,0,20\n"
    rows = data.electric_motor(write(tmp_path, text), target="motor_speed")
    np.testing.assert_allclose(rows.features, [[0, 0], [1, 0.5], [0, 1]])  # ambient, pm
    np.testing.assert_allclose(rows.values, [0, 1, 0.5])
    with pytest.raises(ValueError, match="must have the columns motor_speed and ambient"):
        data.electric_motor(write(tmp_path, MOTOR), target="motor_speed")
    with pytest.raises(ValueError, match="target must be one of"):
        data.electric_motor(write(tmp_path, text), target="torque")


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
        pytest.skip(data.HOW_TO_GET_MOTOR)
    rows = data.electric_motor(path)
    assert rows.features.shape[1] in (10, 11) and len(rows.values) >= 3000
    assert rows.features.min() == 0 and rows.features.max() == 1
