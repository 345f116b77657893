"""The instance of Tirinzoni and Degenne (2022) is drawn again as their program does: Julia's MersenneTwister(123).

This generator is dSFMT-19937 of Saito and Matsumoto (2009), with its initialisation by an array.
"""

from itertools import islice

import numpy as np
import pytest

from bandits_lib import instances
from bandits_lib.complexity import characteristic_time

BITS_32, BITS_64 = (1 << 32) - 1, (1 << 64) - 1


def initial_state(seed):
    """The 2 * 191 numbers of the state and the two of the lung, 64 bits each, from the key [seed]."""
    size, middle, lag = 768, 378, 11
    words = [0x8B8B8B8B] * size
    for i in range(size):
        mixed = words[i] ^ words[(i + middle) % size] ^ words[i - 1]
        r = (mixed ^ mixed >> 27) * 1664525 & BITS_32
        words[(i + middle) % size] = words[(i + middle) % size] + r & BITS_32
        r = r + ([1, seed + 1][i] if i < 2 else i) & BITS_32
        words[(i + middle + lag) % size] = words[(i + middle + lag) % size] + r & BITS_32
        words[i] = r
    for i in range(size):
        mixed = words[i] + words[(i + middle) % size] + words[i - 1] & BITS_32
        r = (mixed ^ mixed >> 27) * 1566083941 & BITS_32
        words[(i + middle) % size] ^= r
        r = r - i & BITS_32
        words[(i + middle + lag) % size] ^= r
        words[i] = r
    state = [low | high << 32 for low, high in zip(words[::2], words[1::2], strict=True)]
    state[:382] = [number & (1 << 52) - 1 | 0x3FF << 52 for number in state[:382]]
    parity = (state[382] ^ 0x90014964B32F4329) & 0x3D84E1AC0DC82880 ^ (state[383] ^ 0x3B8D12AC548A7C7A) & 1
    state[383] ^= 1 - parity.bit_count() % 2  # or the period would be shorter
    return state


def uniform(seed):
    """The numbers of rand(MersenneTwister(seed)), one after the other."""
    state = initial_state(seed)
    while True:
        (*lung,) = state[382:]
        for i in range(0, 382, 2):
            first, other, old = state[i : i + 2], (i + 234) % 382, lung[::-1]
            lung = [
                (first[k] << 19) & BITS_64 ^ old[k] >> 32 ^ (old[k] << 32) & BITS_64 ^ state[other + k] for k in (0, 1)
            ]
            masks = 0x000FFAFFFFFFFB3F, 0x000FFDFFFC90FFFD
            state[i : i + 2] = [lung[k] >> 12 ^ lung[k] & masks[k] ^ first[k] for k in (0, 1)]
        state[382:] = lung
        yield from np.array(state[:382], dtype=np.uint64).view(float) - 1


def test_the_generator_is_julias():
    known = [0.7684476751965699, 0.940515000715187, 0.6739586945680673, 0.3954531123351086]
    assert list(islice(uniform(123), 4)) == known


def test_tied_arms_are_those_of_the_published_program():
    numbers = uniform(123)
    theta = np.array([1.0, *[0.9] * 4, *[0.8] * 5, *(next(numbers) - 1 for _ in range(10))])
    arms = list(np.eye(20)[:10])
    while len(arms) < 50:
        x = np.array([2 * next(numbers) - 1 for _ in range(20)])
        x /= np.linalg.norm(x)
        if x @ theta <= 0.5:
            arms.append(x)
    problem = instances.tied_arms()
    np.testing.assert_allclose(problem.theta, theta, rtol=1e-14)
    np.testing.assert_allclose(problem.arms, arms, rtol=1e-14, atol=1e-16)


def test_suboptimal_arms_tie_and_the_others_are_far_behind():
    problem = instances.tied_arms()
    values = np.sort(problem.means)[::-1]
    np.testing.assert_allclose(values[:10], [1, *[0.9] * 4, *[0.8] * 5], rtol=1e-15)
    assert problem.best_item == 0 and values[10] <= 0.5 and set(problem.sigma) == {1.0}
    assert characteristic_time(problem.arms, problem.items, theta=problem.theta) == pytest.approx(2105.6, abs=0.05)
