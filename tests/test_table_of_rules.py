"""The table of rules says what is true: every public rule, its signature, how it asks and what it promises."""

import inspect

import numpy as np
import pytest

from bandits_lab import planning
from bandits_lib import LinearBandit, fixed_budget, fixed_confidence, play, protocol
from bandits_lib.protocol import Loop
from bandits_lib.rules import NAMES, rule_named, rules_for

TABLE = rules_for()
ARMS = np.vstack([np.eye(3), [0.5, 0.5, 0.0], [0.0, 0.6, 0.8]])
PROBLEM = LinearBandit(ARMS, theta=[1.0, 0.0, 0.0], sigma=0.5)
BINARY = LinearBandit(ARMS, theta=[4.0, 0.0, 0.0], link="logistic")
RATES = LinearBandit(ARMS, theta=[0.6, 0.1, 0.1], noise="bernoulli")
OF_ITS_OWN = {"ucb_glm": BINARY, "bounded_rage": RATES}  # problems whose rewards a rule takes
GIVEN = {"items": None, "delta": 0.05, "budget": 600, "sigma": 0.5, "theta_bound": 1.0, "theta_star": PROBLEM.theta}
GIVEN |= {"sigma_min": 0.5, "sigma_max": 0.5, "burn_in": np.full(5, 0.5)}
each_rule = pytest.mark.parametrize("name", NAMES)
each_on_arms = pytest.mark.parametrize("name", [name for name in NAMES if name != "sphere_track_and_stop"])


def fresh(name, problem=PROBLEM, **given):
    if name == "sphere_track_and_stop":
        return rule_named(name)(3, epsilon=0.3, delta=0.05, sigma=given.get("sigma", 0.5))
    return planning.maker(name, GIVEN | given)(problem, np.random.default_rng(0))


def requests(name, **given):
    """Everything that a rule asks, a Loop as it is."""
    rule, reply, rng, asked = fresh(name, **given), None, np.random.default_rng(1), []
    problem = LinearBandit(np.eye(3), theta=[1, 0, 0]) if name == "sphere_track_and_stop" else PROBLEM
    problem = OF_ITS_OWN.get(name, problem)
    while True:
        try:
            asked.append(rule.send(reply))
        except StopIteration:
            return asked
        if isinstance(asked[-1], Loop):
            return asked
        reply = problem.pull(asked[-1], rng)


def test_every_public_rule_is_there_once_and_no_other():
    assert list(TABLE.index) == list(NAMES)
    assert set(TABLE.index) == {*fixed_confidence.__all__, *fixed_budget.__all__}


@each_rule
def test_batches_are_batches_and_single_pulls_single(name):
    asked = requests(name)
    loops = any(isinstance(request, Loop) for request in asked)
    assert loops == (TABLE.loc[name, "asks"] == "pull by pull")


@each_on_arms
def test_the_call_needs_what_the_table_says(name):
    """Without any one of them, and without delta or budget, there is a TypeError; items are taken where it says so."""
    needs = {*filter(None, TABLE.loc[name, "needs"].split(", "))}
    own = {"budget"} if TABLE.loc[name, "given"] == "budget" else {"delta"}
    arguments = {key: GIVEN.get(key, np.random.default_rng(0)) for key in needs | own}
    arguments |= {"alpha": 1.0} if name == "ucb_glm" else {}
    next(rule_named(name)(ARMS, **arguments))
    for key in needs | own:
        with pytest.raises(TypeError, match=key):
            rule_named(name)(ARMS, **{other: arguments[other] for other in arguments if other != key})
    if TABLE.loc[name, "items"]:
        next(rule_named(name)(ARMS, ARMS[:2], **arguments))
    else:
        with pytest.raises(TypeError, match="positional"):
            rule_named(name)(ARMS, ARMS[:2], **arguments)


@pytest.mark.slow
@each_on_arms
def test_of_several_sigma_what_the_table_says_counts(name):
    """The largest: then a vector and its largest entry give the same requests, and a smaller entry changes none."""
    noise, vector = TABLE.loc[name, "noise"], np.array([0.5, 0.1, 0.1, 0.3, 0.2])
    if noise == protocol.OWN or "sigma" not in inspect.signature(rule_named(name)).parameters:
        assert name in ("ucb_glm", "h_rage", "bounded_rage")
        return
    same = pulls(fresh(name, sigma=vector)) == pulls(fresh(name, sigma=0.5))
    assert same == (noise == protocol.LARGEST)
    if noise == "ratios":
        assert pulls(fresh(name, sigma=vector)) == pulls(fresh(name, sigma=2 * vector))


def pulls(rule):
    return play(rule, PROBLEM, np.random.default_rng(1), max_pulls=20_000, misspecified=True).counts.tolist()


@each_rule
def test_a_promise_of_delta_is_in_the_docstring_and_a_paper_as_well(name):
    doc = inspect.getdoc(rule_named(name))
    assert ("probability at most delta" in TABLE.loc[name, "promise"]) == ("probability at least 1 - delta" in doc)
    paper = TABLE.loc[name, "paper"]
    key = "not of the four papers" if paper.startswith("none") else paper.partition(",")[0]
    source = doc + inspect.getdoc(inspect.getmodule(rule_named(name)))
    authors = {"fiez2019": "Fiez", "jedra2020": "jedra2020", "azizi2022": "Azizi", "weltz2023": "Weltz"}
    assert authors.get(key, key if paper.startswith("none") else key.split()[0].rstrip(",")) in source
    year = paper.split()[-1]
    assert not year.isdigit() or year in source
