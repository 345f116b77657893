"""Sums in one order, one rule for ties, one for the rank, and the kernels of the compiled loops."""
