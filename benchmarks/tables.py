"""Tables of the benchmarks, printed row by row, each row as soon as it is measured."""

from numbers import Integral

FIRST, LEAST = 26, 9  # characters of the first column, and of any other


def show(table):
    """Print a table: the first thing that `table` yields are its columns, everything after that is a row."""
    columns = next(table)
    widths = [max(FIRST, len(columns[0])), *(max(LEAST, len(column)) for column in columns[1:])]
    print(_line(columns, widths), flush=True)
    for row in table:
        print(_line(row, widths), flush=True)
    print(flush=True)


def _line(row, widths):
    first, *others = [f"{_shown(value):>{width}}" for value, width in zip(row, widths, strict=True)]
    return "  ".join([first.strip().ljust(widths[0]), *others])


def _shown(value):
    if isinstance(value, str | Integral):
        return str(value)
    return "-" if value != value else f"{value:.4g}"
