"""Which digits hold on another processor: the same runs with the linear algebra kernels of two instruction sets.

What is decided by counting (who is recommended, how often a rule errs) is the same; values of designs agree to the
tolerance they are certified to; single runs may differ in their pulls where a rounding error tips a design.
"""

import json
import os
import platform
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from reliability import record

RUNS = """
import json
import numpy as np
from bandits_lib import instances, monte_carlo
from bandits_lib.design import g_design, pairs, xy_design
from bandits_lib.fixed_budget import gse
from bandits_lib.fixed_confidence import lazy_track_and_stop, lingape, rage, xy_oracle, xy_static

rules = {
    "rage": lambda p, rng: rage(p.arms, delta=0.05),
    "xy_static": lambda p, rng: xy_static(p.arms, delta=0.05, rng=rng),
    "xy_oracle": lambda p, rng: xy_oracle(p.arms, theta_star=p.theta, delta=0.05, rng=rng),
    "lingape": lambda p, rng: lingape(p.arms, delta=0.05, theta_bound=2.0),
    "lazy_track_and_stop": lambda p, rng: lazy_track_and_stop(p.arms, delta=0.05),
    "gse": lambda p, rng: gse(p.arms, budget=400),
}
problems = {
    "benchmark": lambda rng: instances.benchmark(5, angle=0.3),
    "many arms": lambda rng: instances.many_arms(60, rng, "code"),
}
rows = []
for name, make in problems.items():
    table = monte_carlo(rules, make, runs=12).drop(columns="seconds").assign(problem=name)
    rows += table.to_dict("records")
arms = np.random.default_rng(0).standard_normal((80, 6))
designs = [g_design(arms).value, xy_design(arms, pairs(arms)).value, g_design(arms[:9]).value]
print(json.dumps({"rows": rows, "designs": designs}, default=float))
"""


def run(kernels):
    environment = os.environ | {"OPENBLAS_CORETYPE": kernels}
    done = subprocess.run([sys.executable, "-c", RUNS], env=environment, capture_output=True, text=True, check=True)
    result = json.loads(done.stdout)
    return pd.DataFrame(result["rows"]), np.array(result["designs"])


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="compares two instruction sets of x86")
def test_answers_do_not_depend_on_the_processor():
    (here, values), (there, other_values) = run("Haswell"), run("Nehalem")
    answers = ["problem", "algorithm", "run", "recommendation", "correct", "stopped"]
    pd.testing.assert_frame_equal(here[answers], there[answers])
    np.testing.assert_allclose(values, other_values, rtol=1e-3)  # what designs are certified to
    means = [table.groupby(["problem", "algorithm"])["pulls"].mean() for table in (here, there)]
    np.testing.assert_allclose(*means, rtol=0.05)
    same = float((here["pulls"] == there["pulls"]).mean())
    assert same > 0.8, f"only {same:.0%} of the runs have the same pulls"
    worst = f"{abs(values / other_values - 1).max():.1e}"
    record("5_processors", [{"runs on Haswell and Nehalem kernels": len(here), "same pulls": same, "designs": worst}])
