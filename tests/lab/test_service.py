"""The web service of notebooks/example_service.py: a whole experiment over HTTP, with a conflict."""

import importlib.util
import json
import threading
from http.server import ThreadingHTTPServer
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import numpy as np
import pytest

from bandits_lab import Lab, log
from bandits_lib import LinearBandit, play
from bandits_lib.fixed_budget import gse
from bandits_lib.fixed_confidence import rage

FILE = Path(__file__).resolve().parents[2] / "notebooks" / "example_service.py"
ARMS = np.vstack([np.eye(2), [0.6, 0.8]])
WORLD = LinearBandit(ARMS, theta=[1.0, 0.2], sigma=0.5)


@pytest.fixture
def address(tmp_path):
    spec = importlib.util.spec_from_file_location("example_service", FILE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.Service.folder, module.Service.log_message = tmp_path, lambda *said: None
    server = ThreadingHTTPServer(("127.0.0.1", 0), module.Service)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def call(address, body=None):
    """(status, answer) of a GET, or of a POST with a body."""
    data = None if body is None else json.dumps(body).encode()
    try:
        with urlopen(Request(address, data=data), timeout=60) as answer:
            return answer.status, json.load(answer)
    except HTTPError as error:
        return error.code, json.load(error)


def some(wanted, most, rng):
    """Arms of some of the pulls wanted, and their rewards."""
    arms = rng.permutation(np.repeat(np.arange(len(wanted)), wanted))[:most]
    return arms.tolist(), rng.normal(WORLD.means[arms], 0.5).tolist()


@pytest.mark.parametrize("rule", [lambda: rage(ARMS, delta=0.05, sigma=0.5), lambda: gse(ARMS, budget=90)])
def test_a_whole_experiment(address, tmp_path, rule):
    Lab(rule()).save(tmp_path / "shop.csv")
    status, state = call(f"{address}/shop")
    rng, answers = np.random.default_rng(0), 0
    while state["wanted"] is not None:
        arms, rewards = some(state["wanted"], 40, rng)
        status, state = call(f"{address}/shop", {"told": state["told"], "arms": arms, "rewards": rewards})
        assert status == 200
        answers += 1
    lab = Lab(rule(), tmp_path / "shop.csv")
    assert answers > 2 and lab.result.recommendation == state["answer"] == 0
    assert sum(sample.counts.sum() for sample in lab.log) == state["told"]
    assert call(f"{address}/shop") == (200, state)
    status, answer = call(f"{address}/shop", {"told": state["told"], "arms": [0], "rewards": [1.0]})
    assert status == 409 and answer["error"] == "the experiment is done"


def test_what_was_told_twice_counts_once(address, tmp_path):
    Lab(rage(ARMS, delta=0.05)).save(tmp_path / "shop.csv")
    body = {"told": 0, "arms": [0, 1], "rewards": [1.0, 0.5]}
    assert call(f"{address}/shop", body)[1]["told"] == 2
    status, state = call(f"{address}/shop", body)
    assert status == 409 and "others have told since" in state["error"] and state["told"] == 2
    assert len(Lab(rage(ARMS, delta=0.05), tmp_path / "shop.csv").log) == 1


def test_of_two_at_the_same_time_one_is_refused_and_nothing_is_lost(address, tmp_path, monkeypatch):
    """Both have opened the log before either saves."""
    Lab(rage(ARMS, delta=0.05)).save(tmp_path / "shop.csv")
    both, save = threading.Barrier(2, timeout=60), log.save
    monkeypatch.setattr(log, "save", lambda *arguments: (both.wait(), save(*arguments)))
    bodies = [{"told": 0, "arms": [arm], "rewards": [0.5 + arm]} for arm in (0, 1)]
    answers = {}

    def post(body):
        answers[body["arms"][0]] = call(f"{address}/shop", body)

    threads = [threading.Thread(target=post, args=(body,)) for body in bodies]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(status for status, _ in answers.values()) == [200, 409]
    first = next(arm for arm, (status, _) in answers.items() if status == 200)
    assert "another Lab has saved there" in answers[1 - first][1]["error"]
    monkeypatch.undo()
    assert Lab(rage(ARMS, delta=0.05), tmp_path / "shop.csv").log[0].counts.tolist() == [1 - first, first, 0]
    assert call(f"{address}/shop", bodies[1 - first] | {"told": 1})[1]["told"] == 2


@pytest.mark.parametrize(
    ("name", "body", "status", "message"),
    [
        ("other", None, 404, "no experiment other"),
        ("../shop", None, 200, None),
        ("shop", {"told": 0, "arms": [7], "rewards": [1.0]}, 400, "must lie in 0..2"),
        ("shop", {"told": 0, "arms": [0], "rewards": [None]}, 400, ""),
        ("shop", {"told": 0, "arms": [0], "rewards": ["NaN"]}, 400, "finite"),
        ("shop", {"arms": [0], "rewards": [1.0]}, 400, "told"),
        ("shop", [1, 2], 400, "TypeError"),
    ],
)
def test_bad_requests_are_answered_and_change_nothing(address, tmp_path, name, body, status, message):
    Lab(rage(ARMS, delta=0.05)).save(tmp_path / "shop.csv")
    before = (tmp_path / "shop.csv").read_bytes()
    answer = call(f"{address}/{name}", body)
    assert answer[0] == status and (message is None or message in answer[1]["error"])
    assert (tmp_path / "shop.csv").read_bytes() == before


def test_what_is_no_json_is_refused(address, tmp_path):
    Lab(rage(ARMS, delta=0.05)).save(tmp_path / "shop.csv")
    with pytest.raises(HTTPError, match="400"):
        urlopen(Request(f"{address}/shop", data=b"{told"), timeout=60)


def test_a_log_that_another_holds_is_said_to_be_busy(address, tmp_path, monkeypatch):
    Lab(rage(ARMS, delta=0.05)).save(tmp_path / "shop.csv")

    def busy(path, patience=0.0):
        raise TimeoutError(f"{path} is being written by another program")

    monkeypatch.setattr(log, "locked", busy)
    status, answer = call(f"{address}/shop", {"told": 0, "arms": [0], "rewards": [1.0]})
    assert status == 503 and "another program" in answer["error"]


def test_the_simulation_ends_as_the_service_does(address, tmp_path):
    """The same rewards through HTTP and through play: request by request, in one go each."""
    Lab(rage(ARMS, delta=0.05, sigma=0.5)).save(tmp_path / "shop.csv")
    pulled = play(rage(ARMS, delta=0.05, sigma=0.5), WORLD, np.random.default_rng(0))
    state, rng = call(f"{address}/shop")[1], np.random.default_rng(1)
    while state["wanted"] is not None:
        arms, rewards = some(state["wanted"], None, rng)
        state = call(f"{address}/shop", {"told": state["told"], "arms": arms, "rewards": rewards})[1]
    assert state["answer"] == pulled.result.recommendation and state["told"] == pulled.counts.sum()
