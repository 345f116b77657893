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
    "three fields": line("109498", 0).replace("109498 0 |user", "109498 |user", 1),
    "click": line("109498", 2),
    "no user": line("109498", 0).replace("|user", "|visitor"),
    "not shown": line("109453", 0),
    "a prefix": line("1094", 0),
    "missing feature": line("109498", 0).replace(" 3:0.200000", "", 1),
    "twice": line("109498", 0).replace(" 3:", " 2:", 1),
    "feature 7": line("109498", 0).replace(" 3:0.1", " 7:0.1"),
    "no number": line("109498", 0).replace("0.200000", "x", 1),
    "not finite": line("109498", 0).replace("0.200000", "nan", 1),
    "no constant": line("109498", 0).replace("1:1.0", "1:0.0", 1),
    "empty line": "\n",
}


@pytest.mark.parametrize("bad", BAD.values(), ids=BAD)
def test_lines_of_another_shape_are_skipped_and_counted(tmp_path, bad):
    log, whole = data.click_log(write(tmp_path, bad + GOOD)), data.click_log(write(tmp_path, GOOD))
    assert log.skipped == 1 and np.array_equal(log.features, whole.features)
    with pytest.raises(ValueError, match=r"holds no record \(1 lines"):
        data.click_log(write(tmp_path, bad))


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
