"""Published means, with the options of the published code: |z| <= 3 everywhere, and above 2 at most once.

Of 200 runs of ours; where one takes a tenth of a second or more, of 80, and z counts for more, so that a mean as far
off is found as with 200.

Sources: the authors' code of fiez2019 (benchmark) and jedra2020's Table 1 (many arms). Under the hypothesis that both
sides draw from one law, z divides the difference by sd sqrt(1 / published runs + 1 / our runs), sd from our runs. The
printed standard errors cannot serve: pulls take two or three values, one of them rare and large, and 20 runs that miss
it understate the spread (RAGE at K = 1000: printed 49.82, where the law gives 171). The last two tests go further and
take the published means apart, run by run.
"""

from functools import partial

import numpy as np
import pytest

from bandits_lib import instances, monte_carlo, play
from bandits_lib.fixed_confidence import lazy_track_and_stop, rage, xy_oracle, xy_static

CODE = instances.option_set("fiez2019_code")
PUBLISHED = {  # (instance, algorithm): mean, runs
    ("benchmark 5", "rage"): (711_635, 20),
    ("benchmark 5", "xy_oracle"): (322_993, 20),
    ("benchmark 5", "xy_static"): (2_291_702, 20),
    ("benchmark 10", "rage"): (785_633, 20),
    ("benchmark 10", "xy_oracle"): (330_970, 20),
    ("benchmark 10", "xy_static"): (4_553_513, 15),
    ("many arms 1000", "rage"): (1148.45, 20),
    ("many arms 1000", "xy_oracle"): (476.45, 20),
    ("many arms 7500", "rage"): (1598.0, 20),
    ("many arms 7500", "xy_oracle"): (547.65, 20),
}
RUNS, FEWER = 200, 80
INSTANCES = {
    "benchmark 5": lambda rng: instances.benchmark(5),
    "benchmark 10": lambda rng: instances.benchmark(10),
    "many arms 1000": lambda rng: instances.many_arms(1000, rng, "code"),
    "many arms 7500": lambda rng: instances.many_arms(7500, rng, "code"),
}
RULES = {
    "rage": lambda problem, rng: rage(problem.arms, delta=0.05, **CODE["rage"]),
    "xy_static": lambda problem, rng: xy_static(problem.arms, delta=0.05, rng=rng, **CODE["xy_static"]),
    "xy_oracle": lambda problem, rng: xy_oracle(
        problem.arms, theta_star=problem.theta, delta=0.05, rng=rng, **CODE["xy_oracle"]
    ),
}
TABLE_1 = {  # jedra2020, 20 runs a cell; the column without averaging is reproduced by no settings (jedra2020_5)
    1000: {"lazy_track_and_stop": 1409},
    2500: {"lazy_track_and_stop": 1404, "rage": 1440.75, "xy_oracle": 492.15},
    5000: {"lazy_track_and_stop": 1401, "rage": 1540.3, "xy_oracle": 515.60},
    7500: {"lazy_track_and_stop": 1434},
}


def text_settings(problem, rng):
    """LT&S as section 5 of jedra2020 states it: u = 1, beta at 6 delta / (pi^2 t^2), A_0 at random."""
    return lazy_track_and_stop(problem.arms, delta=0.05, delta_schedule="union", initial="random", rng=rng)


@pytest.mark.slow
def test_table_1_of_jedra2020_is_met():
    z = {}
    for K, cells in TABLE_1.items():
        rules = {name: RULES.get(name, text_settings) for name in cells}
        make = partial(_many_arms, K)
        table = monte_carlo(rules, make, runs=FEWER, seed=2020)
        assert table["correct"].all()
        for name, pulls in table.groupby("algorithm")["pulls"]:
            z[K, name] = score(pulls, cells[name], 20)
    assert max(map(abs, z.values())) <= 3, z
    assert sum(abs(score) > 2 for score in z.values()) <= 1, z


def score(pulls, mean, runs):
    """z, were there RUNS of ours: a difference weighs the same whether there are so many or FEWER."""
    return (pulls.mean() - mean) / (pulls.std() * np.sqrt(1 / runs + 1 / RUNS))


def _many_arms(K, rng):
    return instances.many_arms(K, rng, "code")


def z_scores(instance):
    rules = {name: RULES[name] for at, name in PUBLISHED if at == instance}
    ours = FEWER if instance == "many arms 7500" else RUNS
    table = monte_carlo(rules, INSTANCES[instance], runs=ours, seed=2019)
    assert table["correct"].all(), "the paper: empirical failure probability zero"
    for name, pulls in table.groupby("algorithm")["pulls"]:
        mean, runs = PUBLISHED[instance, name]
        yield (instance, name), score(pulls, mean, runs)


@pytest.mark.slow
def test_published_means_are_met():
    z = dict(score for instance in INSTANCES for score in z_scores(instance))
    assert set(z) == set(PUBLISHED)
    assert max(map(abs, z.values())) <= 3, z
    assert sum(abs(score) > 2 for score in z.values()) <= 1, z


@pytest.mark.parametrize(("d", "mean"), [(5, 711_635), (10, 785_633)])
def test_the_published_mean_of_rage_is_a_mixture_of_our_two_totals(d, mean):
    """Runs stop in phase 13 or 14, whose totals N_t fixes: (j N_13 + (20 - j) N_14) / 20 for a whole j."""
    problem = instances.benchmark(d)
    rule = partial(rage, problem.arms, delta=0.05, **CODE["rage"])
    runs = [play(rule(), problem, np.random.default_rng(seed)).counts.sum() for seed in range(40)]
    early, late = sorted(set(runs))[-2:]
    mixtures = [(j * early + (20 - j) * late) / 20 for j in range(21)]
    assert min(abs(mixture - mean) for mixture in mixtures) < 1


def test_table_1_of_jedra2020_takes_apart_into_3_runs_of_one_phase_and_17_of_two():
    """RAGE at K = 1000: mean 1148.45 and standard error 49.82 (numpy's, ddof 0) are those of 3 and 17 of our totals."""
    totals = []
    for seed in range(40):
        problem = INSTANCES["many arms 1000"](np.random.default_rng(seed))
        run = play(RULES["rage"](problem, None), problem, np.random.default_rng(seed))
        totals.append((len(run.result.history), run.counts.sum()))
    one, two = (np.median([pulls for phases, pulls in totals if phases == n]) for n in (1, 2))
    twenty = np.array([one] * 3 + [two] * 17)
    assert twenty.mean() == pytest.approx(1148.45, abs=1)
    assert twenty.std() / np.sqrt(20) == pytest.approx(49.82, abs=0.1)
