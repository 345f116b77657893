"""The click log, on made-up files in the documented format (nothing of R6A exists here), its stand-in, its instance."""

import gzip

import numpy as np
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


BAD = {
    "three fields": (
        GOOD.replace("109498 0 |user", "109498 |user", 1),
        "line 1: the line must read `timestamp article click",
    ),
    "click": (line("109498", 2), "line 1: the click must be 0 or 1; got '2'"),
    "no user": (
        GOOD + line("109498", 0).replace("|user", "|visitor"),
        r"line 3: the first group must be \|user and its features",
    ),
    "not shown": (GOOD + line("109453", 0), "line 3: the displayed article '109453' is not among the articles"),
    "a prefix": (line("1094", 0), "line 1: the displayed article '1094' is not among the articles"),
    "missing feature": (line("109498", 0).replace(" 3:0.200000", "", 1), "line 1: the user must have the features"),
    "twice": (line("109498", 0).replace(" 3:", " 2:", 1), "line 1: the user must have the features 1 to 6, each once"),
    "feature 7": (
        line("109498", 0).replace(" 3:0.1", " 7:0.1"),
        "line 1: article '109498' has '7:0.100000', which is none of the features",
    ),
    "no number": (line("109498", 0).replace("0.200000", "x", 1), "line 1: could not convert string to float"),
    "not finite": (line("109498", 0).replace("0.200000", "nan", 1), "line 1: the user must have .* each once and fin"),
    "no constant": (line("109498", 0).replace("1:1.0", "1:0.0", 1), "line 1: the user must have a positive constant"),
    "empty line": (GOOD + "\n", "line 3: the line must read `timestamp article click"),
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
    with pytest.raises(ValueError, match="records must be an integer of at least 1"):
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
    with pytest.raises(ValueError, match="there are 0"):
        instances.click_through(features, theta, rng, min_gap=0.5)
    with pytest.raises(ValueError, match="must also span 25 dimensions"):
        instances.click_through(features, theta, rng, n=20)
    copies = np.vstack([features[:1], np.repeat(features[1:2], 50, axis=0)])
    with pytest.raises(ValueError, match="no 3 records in 1,000 draws"):
        instances.click_through(copies, theta, rng, n=3, min_gap=0.0)
