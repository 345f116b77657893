"""Simulate rules on drawn rewards: single runs, tables of many runs with checkpoints, intervals and profiles."""
