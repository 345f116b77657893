"""What happens to people in laboratories, each as a function of a `Bench` that works until its experiment is over."""

import numpy as np

from bandits_lib.companion.versions import ARMS, MACHINE, NAMES
from bandits_lib.lab.lab import Lab
from bandits_lib.lab.measurements import read, read_each


def steadily(bench):
    """Answer every request with one file."""
    bench.finish()


def change_units(bench):
    """Millivolts in the place of volts from the second day on."""
    by_halves(bench, lambda: setattr(bench, "units", 1000.0))


def by_halves(bench, between=lambda: None):
    """The first request in two files."""
    frame = bench.measure(half(bench.lab.ask()))
    bench.tell(bench.file(frame))
    between()
    bench.finish()


def half(wanted):
    """Half of what is wanted, rounded up."""
    return -(-wanted // 2)


def drop_an_arm(bench):
    """An arm runs out, in the middle of a request that has nothing to do with rewards."""
    for _ in range(int(bench.rng.integers(0, 3 if bench.lab.ask().sum() > 8 else 30))):
        if bench.lab.ask() is not None:
            bench.step()
    if (wanted := bench.lab.ask()) is not None:
        if wanted.sum() > 1 and bench.rng.random() < 0.7:
            bench.tell(bench.file(bench.measure(half(wanted))))
        with bench.listening():
            try:
                bench.lab.drop(int(bench.rng.integers(len(ARMS))), "out of stock")
            except ValueError as error:
                bench.refused.append(str(error))
        bench.lab.save(bench.path)
        bench.reopen()
    bench.finish()


def tell_again(bench, parts):
    """Every file is told twice; who is warned takes it back."""

    def each(bench):
        frame = bench.measure(bench.lab.ask())
        for rows in np.array_split(np.arange(len(frame)), parts):
            path = bench.file(frame.iloc[rows])
            bench.tell(path)
            start = len(bench.heard)
            if bench.tell(path) and bench.heard_since(start, "has the same file been read twice"):
                bench.lab.undo("read twice")
                bench.lab.save(bench.path)

    bench.finish(each)


def shuffled_days(bench):
    """The rows of a request in files of several days, told in any order."""

    def each(bench):
        frame = bench.measure(bench.lab.ask())
        days = bench.rng.integers(0, 4, len(frame))
        paths = [bench.file(frame[days == day]) for day in bench.rng.permutation(4) if (days == day).any()]
        for path in paths:
            bench.tell(path)

    bench.finish(each)


def restart(bench):
    """After every file the log is opened on another machine: last digits of the arms and the designs differ."""

    def each(bench):
        wanted = bench.lab.ask()
        bench.tell(bench.file(bench.measure(half(wanted) if bench.rng.random() < 0.5 else wanted)))
        MACHINE[:] = 3e-3 * bench.rng.uniform(-1, 1, len(MACHINE))
        bench.reopen(bench.problem.arms * (1 + 1e-14 * bench.rng.standard_normal(ARMS.shape)))

    try:
        bench.finish(each)
    finally:
        MACHINE[:] = 0


def two_people(bench):
    """Two Labs of one log, each told a part: the second save is refused, and the second part told once more."""
    bench.lab.save(bench.path)

    def each(bench):
        bench.reopen()
        with bench.listening():
            other = Lab(bench.make(), bench.path)
        wanted = bench.lab.ask()
        mine, theirs = (bench.file(bench.measure(n)) for n in (half(wanted), wanted - half(wanted)))
        bench.tell(mine)
        if not (wanted - half(wanted)).any():
            return
        with bench.listening():
            other.tell(read(theirs, NAMES, other.ask()))
        try:
            other.save(bench.path)
        except ValueError as error:
            bench.refused.append(str(error))
            bench.reopen()
            bench.tell(theirs)

    bench.finish(each)


def killed_save(bench):
    """A save is cut short at any byte; who sees pulls missing tells the file once more."""
    bench.lab.save(bench.path)

    def each(bench):
        wanted = bench.lab.ask()
        path = bench.file(bench.measure(half(wanted) if bench.rng.random() < 0.5 else wanted))
        before = bench.path.read_bytes()
        bench.tell(path)
        after = bench.path.read_bytes()
        bench.path.write_bytes(after[: bench.rng.integers(len(before), len(after) + 1)])
        bench.reopen()
        if sum(sample.counts.sum() for sample in bench.lab.log) < bench.counts.sum():
            bench.tell(path)

    bench.finish(each)


def empty_cells(bench):
    """Some measurements fail and leave an empty cell."""

    def each(bench):
        frame = bench.measure(bench.lab.ask(), keep=False)
        failed = bench.rng.random(len(frame)) < 0.1
        bench.enter(frame[~failed])
        frame.loc[failed, ["sum", "squares"]] = np.nan
        bench.tell(bench.file(frame))

    bench.finish(each)


def typing_error(bench):
    """A number is typed ten times too large, told, found, taken back, and told as it is."""

    def each(bench):
        frame = bench.measure(bench.lab.ask())
        wrong, row = frame.copy(), int(bench.rng.integers(len(frame)))
        wrong.loc[row, ["sum", "squares"]] *= [10, 100]
        if bench.tell(bench.file(wrong)):
            bench.lab.undo("a point was forgotten")
            bench.tell(bench.file(frame))

    bench.finish(each)


def history_first(bench):
    """Single rewards of a pilot, told before the experiment."""
    pilot = bench.measure(np.full(len(ARMS), 20))
    bench.units = 1.0
    with bench.listening():
        bench.lab.tell_history(read_each(bench.file(pilot), NAMES))
    bench.lab.save(bench.path)
    bench.reopen()
    bench.finish()


def other_order(bench):
    """Two names are swapped where files are read; who is refused puts them right."""
    one, other = bench.rng.choice(len(ARMS), 2, replace=False)
    names, wrong = list(NAMES), [True]
    names[one], names[other] = names[other], names[one]

    def each(bench):
        wanted = bench.lab.ask()
        frame = bench.measure(half(wanted), keep=False)
        path = bench.file(frame)
        if wrong[0] and bench.tell(path, names):
            bench.enter(frame.assign(arm=[names.index(NAMES[a]) for a in frame["arm"]]))
            return
        wrong[0] = False
        if bench.tell(path):
            bench.enter(frame)

    bench.finish(each)


def from_the_first_day(bench, units):
    """Rewards in another unit than sigma from the beginning."""
    bench.units = units
    bench.finish()


def squares_left_out(bench):
    """Zeros in the column of squares; who is refused fills them in."""

    def each(bench):
        frame = bench.measure(bench.lab.ask())
        taken = frame["count"].max() > 1 and bench.tell(bench.file(frame.assign(squares=0.0)))
        if not taken:
            bench.tell(bench.file(frame))

    bench.finish(each)


def decimal_commas(bench):
    """Files of a spreadsheet that writes fractions with commas."""
    bench.finish(lambda bench: bench.tell(bench.file(bench.measure(bench.lab.ask()), sep=";", decimal=",")))


def made_up_squares(bench):
    """Means are typed in, and squares made up from them."""

    def each(bench):
        frame = bench.measure(bench.lab.ask()).groupby("arm", as_index=False).sum()
        bench.tell(bench.file(frame.assign(squares=frame["sum"] ** 2 / frame["count"])))

    bench.finish(each)


def history_in(bench, units):
    """A pilot in another unit, told before the experiment."""
    bench.units = units
    history_first(bench)
