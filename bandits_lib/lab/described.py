"""What is wrong with a table that describes arms: cells, words and arms that cannot be meant so. With the lines."""

from bandits_lib.lab.tables import MISSING, UNIT

FEW = 6  # arms, up to which most may have a word of their own
SHARE = 0.75  # of more arms, above which different words are taken for names


def check_cells(path, columns, rows):
    """Refuse columns without a name, empty cells and two arms of one name."""
    for number, name in enumerate(columns[1:], start=2):
        if not name:
            raise ValueError(f"column {number} of {path} has no name: write one into its first line")
    for line, row in rows:
        for name in columns:
            if row[name].lower() in MISSING:
                way_out = "" if name == columns[0] else f": fill it, or leave the column out, ignore=[{name!r}]"
                raise ValueError(f"line {line} of {path}: {name} is empty{way_out}")
    for (before, _), (line, row) in _twice(rows, lambda row: row[columns[0]]):
        raise ValueError(f"lines {before} and {line} of {path}: names must differ; both are {row[columns[0]]!r}")


def check_words(path, rows, name, said):
    """Refuse words that differ in nothing that matters and, unless it is `said` that they are codes, all others that
    are hardly meant as categories: numbers with a unit, and as many words as arms.
    """
    words: dict[str, int] = {}
    for line, row in rows:
        words.setdefault(row[name], line)
    firsts = [(line, word) for word, line in words.items()]
    for (before, one), (line, other) in _twice(firsts, lambda word: "".join(word.split()).casefold()):
        raise ValueError(
            f"column {name!r} of {path}: {one!r} (line {before}) and {other!r} (line {line}) differ in capitals or "
            "blanks only: write them alike"
        )
    if said:
        return
    units = [found[2] for word in words if (found := UNIT.fullmatch(word))]
    if len(units) == len(words) > 1:
        raise ValueError(
            f"column {name!r} of {path} holds numbers with a unit, such as {firsts[0][1]!r}: write the unit into the "
            f"first line ('{name} [{units[0]}]') and the numbers alone below, or say codes=[{name!r}] if they are words"
        )
    if len(words) == len(rows) > 2 or len(rows) > FEW and len(words) > SHARE * len(rows):
        raise ValueError(
            f"column {name!r} of {path} has {len(words)} different words for {len(rows)} arms: leave it out, "
            f"ignore=[{name!r}], or say codes=[{name!r}]"
        )


def check_alike(path, columns, rows, described):
    """Refuse two arms of one description."""
    alike = list(zip(*described.values(), strict=True))
    lines = [(line, (row[columns[0]], values)) for (line, row), values in zip(rows, alike, strict=True)]
    for (before, (one, _)), (line, (other, _)) in _twice(lines, lambda row: row[1]):
        raise ValueError(
            f"{path}: {one!r} (line {before}) and {other!r} (line {line}) are alike in all columns: leave one out, or "
            "add the column in which they differ"
        )


def _twice(rows, key):
    """(row before, row), each with its line, for all that have a key again."""
    seen: dict = {}
    for row in rows:
        before = seen.setdefault(key(row[1]), row)
        if before is not row:
            yield before, row
