"""Read a notebook's parameters from its cell, and check the values that are given in their place."""

import ast
import json
import re
import sys
from pathlib import Path
from typing import Any, NamedTuple

LARGEST = sys.float_info.max
LEAST = {"coin_shares": 0.0, "min_gap": 0.0, "threshold": -LARGEST}  # of the decimal numbers that need not be positive
OF_EACH = ("peace_runs", "coin_shares")  # one number for each element of another list
ELSEWHERE = ("out", "n_jobs", "scheduler", "checkpoint")  # parameters that change no number
FREE = (*ELSEWHERE, "own", "claims_folder")  # those and others that change no published row
COUNT = re.compile(r"(\w+_)?(runs|instances|steps|draws)|instances_per_size|arm_sets")  # how often something is done


class Parameter(NamedTuple):
    """A line of the cell tagged `parameters`: its literal and the comment after it."""

    default: Any
    comment: str


def read(notebook):
    """Return {name: Parameter} of a notebook file in the order of its cell; empty if no cell is tagged `parameters`."""
    path = Path(notebook)
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    source = "\n".join("".join(cell["source"]) for cell in cells if "parameters" in cell["metadata"].get("tags", []))
    lines = [line.strip() for line in source.splitlines()]
    return dict(_parameter(path.stem, line) for line in lines if line and not line.startswith("#"))


def _parameter(name, line):
    """Return (name, Parameter) of one line."""
    try:
        (node,) = ast.parse(line).body
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(target := node.targets[0], ast.Name):
            comment = line.encode()[node.end_col_offset :].decode().strip().removeprefix("#").strip()
            return target.id, Parameter(ast.literal_eval(node.value), comment)
    except (ValueError, SyntaxError):
        pass
    raise ValueError(f"{name}: parameter line `{line}` is not `name = literal`")


def typed(text):
    """Return the value that a word of the command line means: a Python literal, or text."""
    try:
        value = ast.literal_eval(text.strip())
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return text
    return list(value) if isinstance(value, tuple) else value


def check(notebook, declared, values):
    """Refuse, in one sentence, an unknown name and a value that is not like the default, or out of range."""
    for name, value in values.items():
        if name not in declared:
            raise ValueError(f"{notebook} has no parameter {name!r}; it has {', '.join(declared) or 'none'}")
        default = declared[name].default
        if fault := _fault(name, value, default):
            raise ValueError(f"{notebook}: {name} = {value!r} {fault}; the notebook has {name} = {default!r}")


def _fault(name, value, default, least=1):
    """Return what is wrong with a value, in words, or None."""
    if isinstance(default, list):
        return _fault_of_list(name, value, default)
    if isinstance(default, bool | str):
        kind = "a string" if isinstance(default, str) else "True or False"
        return None if isinstance(value, type(default)) else f"is not {kind}"
    return _fault_of_number(name, value, default, 0 if name == "seed" or default == 0 else least)


def _fault_of_number(name, value, default, least):
    """Return what is wrong with a number, or None; a seed and the runs of one setting of several may be 0."""
    whole = isinstance(default, int)
    if type(value) not in ((int,) if whole else (int, float)):
        kind = "a whole number, without point or exponent" if whole else "a number"
        return f"is not {kind}" + (_yaml(value) if isinstance(value, str) else "")
    if not -LARGEST <= value <= LARGEST:
        return "is not finite"
    if name.rpartition("_")[2] in ("delta", "deltas"):
        return None if 0 < value < 1 else "is not between 0 and 1"
    if name == "n_jobs":
        return None if value else "is not a number of processes"
    if whole:
        return f"is not {least:d} or more" if value < least else None
    if name not in LEAST:
        return "is not positive" if value <= 0 else None
    return f"is below {LEAST[name]:g}" if value < LEAST[name] else None


def _yaml(text):
    """Return what to write if YAML makes a string of a number, else an empty string."""
    try:
        number = float(text)
    except ValueError:
        return ""
    return f" (YAML reads {text} as a string: write {number!r})"


def _fault_of_list(name, value, default):
    """Return what is wrong with a list, or None; its elements must be like the default's, inner lists equally long."""
    if not isinstance(value, list):
        number = type(value) in (int, float) and not isinstance(default[0], list)
        return "is not a list" + (f": write '[{value!r}]'" if number else "")
    if not value:
        return "is empty"
    like = next((element for element in default if isinstance(element, float)), default[0])
    for element in value:
        if isinstance(like, list) and isinstance(element, list) and len(element) != len(like):
            return f"has the element {element!r}, which does not have {len(like)} numbers"
        if fault := _fault(name, element, like, least=not name.endswith("_runs")):
            return f"has the element {element!r}, which {fault}"
    if name not in OF_EACH and (again := [element for k, element in enumerate(value) if element in value[:k]]):
        return f"has the element {again[0]!r} twice"
    return None


def changed(used, published, samples=True):
    """Return {name: "angle is 0.02, published 0.01"} of the parameters that change rows.

    With `samples`, other counts and lists whose elements were all published make a sample of the published rows.
    """
    others = {name: published[name] for name in used if name in published and name not in FREE}
    return {
        name: f"{name} is {_short(used[name])}, published {_short(value)}"
        for name, value in others.items()
        if used[name] != value and not (samples and is_sample(name, used[name], value))
    }


def is_sample(name, value, published):
    """Return whether a value gives a sample of what the published one gives: a count, or elements of its list."""
    if COUNT.fullmatch(name):
        return True
    if not (isinstance(published, list) and isinstance(value, list)):
        return False
    if name in OF_EACH:  # in the order of the list to which they belong
        rest = iter(published)
        return all(element in rest for element in value)
    return all(element in published for element in value)


def at_most(values, runs):
    """Return parameters in which no number of runs is larger than `runs`."""

    def fewer(name, value):
        if not COUNT.fullmatch(name) or not name.endswith("runs"):
            return value
        return [min(number, runs) for number in value] if isinstance(value, list) else min(value, runs)

    return {name: fewer(name, value) for name, value in values.items()}


def _short(value):
    return value if len(str(value)) < 40 else f"{str(value)[:36]} ..."


def listing(notebook, declared):
    """Return the parameters with their comments, one per line, and the numbers of runs that `runs` does not set."""
    comments = {f"{name} = {parameter.default!r}": parameter.comment for name, parameter in declared.items()}
    width = min(40, max(map(len, comments), default=0))
    lines = [notebook]
    for assignment, comment in comments.items():
        lines.append(f"  {assignment:<{width}}  {'# ' if comment else ''}{comment}".rstrip())
    if names := unmoved(declared):
        lines.append(f"-p runs N leaves {names}.")
    return "\n".join(lines)


def unmoved(declared, assigned=()):
    """Return which numbers of runs `runs` does not set: "a_runs and b_runs as they are", or "" if there are none."""
    names = [name for name in declared if name.endswith("_runs") and name not in assigned]
    if len(names) < 2:
        return f"{names[0]} as it is" if names else ""
    return f"{', '.join(names[:-1])} and {names[-1]} as they are"
