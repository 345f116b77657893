"""Experiments that several notebooks share."""
