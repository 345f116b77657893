"""The papers' problems, one function each, and the options behind their printed numbers; elsewhere called `instances`.

Every problem function returns a LinearBandit. Where text and published code differ, the caller says which.
"""

from bandits_lib.papers.azizi2022 import logistic, published_job, rows_of_data, static
from bandits_lib.papers.fiez2019 import benchmark, click_through, many_arms, multivariate, sphere, transductive
from bandits_lib.papers.options import option_set
from bandits_lib.papers.weltz2023 import (
    bent_benchmark,
    multivariate_testing,
    published_noise,
    quadratic_sigma,
    signal_to_noise,
    three_arms,
    two_spheres,
)

__all__ = [
    "benchmark",
    "bent_benchmark",
    "click_through",
    "logistic",
    "many_arms",
    "multivariate",
    "multivariate_testing",
    "option_set",
    "published_job",
    "published_noise",
    "quadratic_sigma",
    "rows_of_data",
    "signal_to_noise",
    "sphere",
    "static",
    "three_arms",
    "transductive",
    "two_spheres",
]
