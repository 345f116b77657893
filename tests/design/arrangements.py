"""Arms, directions and plain norms that the tests of designs share."""

import numpy as np
import pytest


def sphere(n, d, seed=0):
    x = np.random.default_rng(seed).normal(size=(n, d))
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def soare(d, angle=0.01):
    return np.vstack([np.eye(d), np.r_[np.cos(angle), np.sin(angle), np.zeros(d - 2)]])


def many_arms(n, seed=0):
    angles = 0.78 + np.random.default_rng(seed).uniform(0, 0.1, n)
    angles = np.r_[0.0, 3 * np.pi / 4, angles]
    return np.c_[np.cos(angles), np.sin(angles)]


def differences(items):
    i, j = np.triu_indices(len(items), 1)
    return items[i] - items[j]


def oracle(items, theta):
    values = items @ theta
    best = values.argmax()
    others = np.arange(len(items)) != best
    return (items[best] - items[others]) / (values[best] - values[others])[:, None]


def norms(arms, weights, directions, sigma=1.0):
    """||y||^2 under A(weights)^-1, by a plain pseudo-inverse."""
    scaled = arms / np.broadcast_to(sigma, len(arms))[:, None]
    inverse = np.linalg.pinv((scaled.T * weights) @ scaled, rcond=1e-12, hermitian=True)
    return np.einsum("ni,ij,nj->n", directions, inverse, directions)


def certified(design, tol=1e-3):
    assert design.weights.min() >= 0
    assert design.weights.sum() == pytest.approx(1, abs=1e-12)
    assert design.lower_bound <= design.value <= (1 + tol) * design.lower_bound


def cases():
    """(name, arms, directions, sigma) of designs of every kind."""
    rng = np.random.default_rng(7)
    x = sphere(12, 3, 1)
    yield "pairs", x, differences(x), 1.0
    yield "soare", soare(4), differences(soare(4)), 1.0
    yield "transductive", sphere(10, 4, 2), rng.normal(size=(7, 4)), 1.0
    yield "few directions", sphere(15, 6, 3), rng.normal(size=(2, 6)), 1.0
    yield "weighted", x, differences(x)[::3], rng.uniform(0.1, 3, 12)
    yield "oracle", soare(4, 0.1), oracle(soare(4, 0.1), np.array([2.0, 0, 0, 0])), 1.0
    flat = sphere(10, 3, 6) @ rng.normal(size=(3, 5))
    yield "rank 3 in R^5", flat, differences(flat)[::2], 1.0
    yield "duplicates", np.vstack([x, x[:5]]), np.vstack([differences(x[:5])] * 2 + [np.zeros((1, 3))]), 1.0
    yield "directions of one plane", np.eye(4), np.array([[1.0, -1, 0, 0], [1, 2, 0, 0], [0, 1, 0, 0]]), 1.0
    yield "lengths", x * np.geomspace(1e-2, 1, 12)[:, None], differences(x)[:10], 1.0
