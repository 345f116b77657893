"""A laboratory's files: good rows add up, a bad one is named by its line and nothing of the file is kept."""

import numpy as np
import pytest

from bandits_lib import Lab, Sample
from bandits_lib.fixed_confidence import rage
from bandits_lib.lab.measurements import read

NAMES = ["plain", "bold", "picture"]


def write(tmp_path, text):
    path = tmp_path / "day.csv"
    path.write_text(text)
    return path


def test_one_row_per_pull(tmp_path):
    sample = read(write(tmp_path, "arm,reward\nplain,1\nbold,0.5\nplain,-2\n"), NAMES)
    expected = Sample.of([0, 1, 0], [1.0, 0.5, -2.0], 3)
    for mine, theirs in zip(sample, expected, strict=True):
        np.testing.assert_array_equal(mine, theirs)


def test_counted_rows_are_the_same_pulls(tmp_path):
    counted = read(write(tmp_path, "arm,count,sum,squares\nplain,2,-1,5\nbold,1,0.5,0.25\n"), NAMES)
    single = read(write(tmp_path, "arm,reward\nplain,1\nbold,0.5\nplain,-2\n"), NAMES)
    for mine, theirs in zip(counted, single, strict=True):
        np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize(
    "text, message",
    [
        ("page,reward\nplain,1\n", "line 1 of .*columns must be arm,reward or arm,count,sum,squares"),
        ("", "line 1 of"),
        ("arm,reward\nplain,1\nitalic,1\n", "line 3 of .*unknown arm 'italic'; the arms are plain, bold, picture"),
        ("arm,reward\nplain,one\n", "line 2 of .*reward must be a finite number; got 'one'"),
        ("arm,reward\nplain,1\nbold,nan\n", "line 3 of .*finite"),
        ("arm,reward\nplain,1,2\n", "line 2 of .*3 fields"),
        ("arm,count,sum,squares\nplain,2.5,1,1\n", "line 2 of .*whole number"),
        ("arm,count,sum,squares\nplain,0,0,0\n", "line 2 of .*at least 1"),
        ("arm,count,sum,squares\nplain,4,4,1\n", r"line 2 of .*squares is 1, below sum\^2 / count = 4"),
        ("arm,reward\nplain,1\nplain,1\nplain,1\n", "line 4 of .*more pulls of plain than the 2 that were asked for"),
        ("arm,reward\npicture,1\n", "line 2 of .*more pulls of picture than the 0 that were asked for"),
    ],
)
def test_bad_rows_are_refused_by_line(tmp_path, text, message):
    with pytest.raises(ValueError, match=message):
        read(write(tmp_path, text), NAMES, wanted=np.array([2, 5, 0]))


def test_a_refused_file_changes_nothing_and_the_mended_one_goes_on(tmp_path):
    lab = Lab(rage(np.eye(3), delta=0.05))
    wanted = lab.ask()
    rows = "".join(f"{name},{n},{n},{n}\n" for name, n in zip(NAMES, wanted, strict=True))
    with pytest.raises(ValueError, match="line 5"):
        lab.tell(read(write(tmp_path, f"arm,count,sum,squares\n{rows}bold,1,1,1\n"), NAMES, wanted))
    assert not lab.log and (lab.ask() == wanted).all()
    lab.tell(read(write(tmp_path, f"arm,count,sum,squares\n{rows}"), NAMES, wanted))
    assert len(lab.log) == 1
