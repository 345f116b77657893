"""Provide sums in one order, one rule for ties, one rule for the rank, and kernels for the compiled loops."""
