"""Numerics that everything else stands on: linear algebra in one order of summation."""
