"""Numerical foundations that the designs, the estimators, the checks and the rules share."""
