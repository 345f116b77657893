"""Verdicts follow from interval and region, never from a hand."""

from math import inf, nan

import pandas as pd
import pytest

from bandits_companion import claims


def of(estimate, low, high, holds=(0.0, 1.0), name="nb/x"):
    return claims.claim(name, "fiez2019", "Figure 1a", "a statement", estimate, low, high, holds)


@pytest.mark.parametrize(
    ("estimate", "low", "high", "verdict"),
    [
        (0.5, 0.4, 0.6, "reproduced"),
        (0.5, 0.0, 1.0, "reproduced"),
        (1.5, 1.1, 1.9, "not reproduced"),
        (-1.0, -2.0, -0.5, "not reproduced"),
        (0.9, 0.7, 1.1, "undecided"),
        (1.0, 0.9, 1.1, "undecided"),
        (0.5, -1.0, 2.0, "undecided"),
        (0.5, -inf, inf, "undecided"),
        (1.5, 1.0, 1.9, "undecided"),
        (-1.0, -2.0, 0.0, "undecided"),
    ],
)
def test_verdict_by_rule(estimate, low, high, verdict):
    assert of(estimate, low, high).verdict == verdict


def test_runs_that_would_decide():
    assert of(0.5, 0.4, 0.6).more == 1
    assert of(0.9, 0.7, 1.1).more == 4
    assert of(1.0, 0.9, 1.1).more == inf
    assert of(0.5, -inf, inf).more == inf
    assert of(1.1, 0.9, 1.2).more == 4
    assert of(0.0, 0.0, 0.1, holds=(0.0, 0.05)).more == 4
    assert of(1.1, 1.0, 1.2).more == 2, "it touches from outside: any more runs decide"
    assert of(0.0, 0.0, 0.1, holds=(-inf, 0.05)).more == 4


def test_runs_that_would_decide_at_the_harder_of_two_edges_and_rounded_up():
    """(1 / .8)^2 = 1.56 times the runs clear 0, (.6 / .2)^2 = 9 clear 1; a half of .25 at .1 from 1 asks for 6.25."""
    assert of(0.8, -0.2, 1.4).more == 9
    assert of(0.9, 0.8, 1.15).more == 7


def test_a_statement_may_be_true_of_one_value_alone():
    assert of(2.0, 2.0, 2.0, holds=(2.0, 2.0)).verdict == "reproduced"
    assert of(2.0, 1.9, 2.1, holds=(2.0, 2.0)).verdict == "undecided"
    assert of(2.0, 2.0, 2.0, holds=(3.0, 3.0)).verdict == "not reproduced"


def test_a_claim_cannot_be_typed():
    with pytest.raises(TypeError):
        claims.claim("nb/x", "p", "f", "s", 0.5, 0.4, 0.6, (0, 1), verdict="reproduced")
    with pytest.raises(AttributeError):
        of(0.5, 0.4, 0.6).verdict = "not reproduced"


@pytest.mark.parametrize(
    ("kwargs", "words"),
    [
        ({"estimate": 2.0, "low": 0.0, "high": 1.0}, "low <= estimate <= high"),
        ({"estimate": nan, "low": 0.0, "high": 1.0}, "low <= estimate <= high"),
        ({"estimate": 0.5, "low": 0.0, "high": 1.0, "holds": (2.0, 1.0)}, "ordered holds"),
        ({"estimate": 0.5, "low": 0.0, "high": 1.0, "holds": (nan, 1.0)}, "ordered holds"),
        ({"estimate": 0.5, "low": 0.0, "high": 1.0, "name": "x"}, "id must be"),
    ],
)
def test_what_is_no_claim_is_refused(kwargs, words):
    with pytest.raises(ValueError, match=words):
        of(**kwargs)


def test_claims_are_saved_by_notebook_with_computed_verdicts(tmp_path):
    shown = claims.save([of(0.5, 0.4, 0.6), of(2.0, 1.5, 2.5, name="nb/y"), of(0.9, 0.7, 1.1, name="nb/z")], tmp_path)
    saved = pd.read_csv(tmp_path / "figures" / "claims" / "nb.csv")
    assert saved["verdict"].tolist() == ["reproduced", "not reproduced", "undecided"]
    assert saved["id"].tolist() == ["nb/x", "nb/y", "nb/z"] and saved["estimate"].tolist() == [0.5, 2.0, 0.9]
    assert "4 times the runs" in shown["verdict"][2]
    for wrong in ([], [of(0.5, 0.4, 0.6), of(0.5, 0.4, 0.6)], [of(0.5, 0.4, 0.6), of(0.5, 0.4, 0.6, name="other/x")]):
        with pytest.raises(ValueError, match="one notebook"):
            claims.save(wrong, tmp_path)


def test_every_field_is_saved_under_its_name_to_the_last_digit(tmp_path):
    third = claims.claim("nb/x", "fiez2019", "Figure 1a", "words", 1 / 3, 0.1, 0.7, (0.2, 0.9), "why")
    claims.save([third], tmp_path)
    (saved,) = pd.read_csv(tmp_path / "figures" / "claims" / "nb.csv").to_dict("records")
    fields = {"id": "nb/x", "paper": "fiez2019", "place": "Figure 1a", "statement": "words", "explanation": "why"}
    numbers = {"estimate": 1 / 3, "low": 0.1, "high": 0.7, "holds_low": 0.2, "holds_high": 0.9}
    fields |= numbers | {"verdict": "undecided", "more": 4, "whose": "paper", "reach": "0.1 to 0.7"}
    assert {name: value for name, value in saved.items() if value == value} == fields
