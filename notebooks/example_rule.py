"""Two short rules, as a file of your own may hold them; `run.py own example_rule.py:uniform_glr` plays one of them."""

from math import ceil, log

import numpy as np

from bandits_lib import Result


def uniform_glr(arms, items, *, delta, sigma):
    """Pull all arms equally often, and stop when the leader is ahead of every item by a generalised likelihood ratio.

    The t-th look has error probability delta / (t (t + 1)), which sums to delta, and M - 1 rivals share it. The
    number of pulls at a look is fixed beforehand, so estimates are normal, and a tail of the normal law is at most
    exp(-z) where the ratio is z. So the answer is wrong with probability at most delta.
    """
    K, each, t, sums = len(arms), 0, 0, np.zeros(len(arms))
    inverse = np.linalg.pinv(arms.T @ arms)  # of the information, with one pull of every arm
    while True:
        t += 1
        more = max(1, ceil(0.1 * each))
        sample = yield np.full(K, more)
        each, sums = each + more, sums + sample.sums
        values = items @ (inverse @ (arms.T @ sums)) / each
        leader = int(np.argmax(values))
        rivals = items[leader] - np.delete(items, leader, axis=0)
        variances = sigma**2 * np.einsum("md,de,me->m", rivals, inverse, rivals) / each
        ratio = (values[leader] - np.delete(values, leader)) ** 2 / (2 * variances)
        if ratio.min() > log(len(rivals) * t * (t + 1) / delta):
            return Result(leader)


def uniform_budget(arms, *, budget):
    """Pull all arms equally often, the first ones once more where the budget leaves a remainder; name the best fit."""
    counts = np.full(len(arms), budget // len(arms))
    counts[: budget % len(arms)] += 1
    sample = yield counts
    information = (arms.T * sample.counts) @ arms
    return Result(int(np.argmax(arms @ np.linalg.pinv(information) @ (arms.T @ sample.sums))))
