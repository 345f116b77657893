"""Whether a Sample was told before, digit by digit, as when a file is read twice."""

import numpy as np

FEW = 3  # pulls of which the same sums may come twice by chance
CHANCE = 0.1  # that whole numbers do, above which nothing is said


def message(sample, log, requests):
    """What to warn of when a Sample is told after those of the log, or an empty text."""
    if sample.counts.sum() < FEW:
        return ""
    chance = chance_of_the_same(sample) if not (sample.sums % 1).any() else 0.0
    if chance > CHANCE:
        return ""
    likely = f" (other whole numbers would agree with probability {chance:.2g})" if chance else ""
    for told, request in zip(log, requests, strict=False):
        if all(map(np.array_equal, told, sample)):
            return (
                f"these {sample.counts.sum()} pulls are those told in answer to request {request}, digit by digit: "
                f"has the same file been read twice{likely}? Then lab.undo() takes them back"
            )
    return ""


def chance_of_the_same(sample):
    """About the probability that other rewards, whole numbers as these, have the same sums.

    Two sums of n with variance v each are equal with probability about 1 / sqrt(4 pi n v).
    """
    n, sums, squares = (field[sample.counts > 0] for field in sample)
    spread = 4 * np.pi * np.maximum(squares - sums * (sums / n), 0.0)
    return float(np.prod(1 / np.sqrt(np.maximum(spread, 1.0))))
