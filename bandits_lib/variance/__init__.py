"""Rules that estimate variances which are quadratic in the arm, sigma_x^2 = x'Sigma x (weltz2023)."""

from bandits_lib.variance.baselines import separate_arm_design, separate_arm_estimator, uniform_estimator
from bandits_lib.variance.head import burn_in, head
from bandits_lib.variance.quadratic import VarianceEstimate, features

__all__ = ["VarianceEstimate", "burn_in", "features", "head"]
__all__ += ["separate_arm_design", "separate_arm_estimator", "uniform_estimator"]
