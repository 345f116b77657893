"""Files of measurements: good rows add up, a bad one is named by its line, and nothing of its file is kept."""

import warnings
from hashlib import sha256

import numpy as np
import pytest

from bandits_lab import Lab
from bandits_lab.measurements import read_measurements
from bandits_lib import Sample
from bandits_lib.fixed_confidence import rage

NAMES = ["plain", "bold", "picture"]


def read(tmp_path, content, names=NAMES, *, encoding="utf-8", **options):
    path = tmp_path / "day.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode(encoding))
    return read_measurements(path, names, **options)


def test_single_and_counted_rows_are_the_same_pulls(tmp_path):
    expected = Sample.of([0, 1, 0], [1.0, 0.5, -2.0], 3)
    for text in ("arm,reward\nplain,1\nbold,0.5\nplain,-2\n", "arm,count,sum,squares\nplain,2,-1,5\nbold,1,0.5,0.25\n"):
        for mine, theirs in zip(read(tmp_path, text), expected, strict=True):
            np.testing.assert_array_equal(mine, theirs)


def test_rows_keep_their_tickets_lines_and_order(tmp_path):
    sample = read(tmp_path, "Ticket,arm,dose,reward\nA1-0001,plain,7,1\n,bold,3,3\n\nA1-0003,plain,7,2\n")
    assert sample.rows == (
        ("A1-0001", 0, 1, 1.0, 1.0, 2),
        ("", 1, 1, 3.0, 9.0, 3),
        ("A1-0003", 0, 1, 2.0, 4.0, 5),
    )
    assert sample.file == "day.csv" and sample.sha256 == sha256((tmp_path / "day.csv").read_bytes()).hexdigest()


THE_SAME = {
    "Excel, CSV UTF-8": "\ufeffarm,reward\r\nplain,1.5\r\nbold,-2\r\n\r\n",
    "capitals, spaces, other columns, any order": "Well, Reward ,ARM\nA1,1.5, plain\nA2,-2,bold \n",
    "semicolons and decimal commas": "arm;reward\nplain;1,5\nbold;-2\n",
    "what Excel puts first": "sep=;\nArm;Reward\nplain;1,5\nbold;-2\n;;\n\n",
    "tabs": "arm\treward\nplain\t1,5\nbold\t-2,0\n",
    "quoted": 'arm,reward\n"plain","1,5"\n"bold","-2"\n',
    "too many separators": "arm,reward\nplain,1.5,,\nbold,-2,,\n,,,\n",
    "an old Macintosh": "arm,reward\rplain,1.5\rbold,-2\r",
    "an index, characters of web pages, an empty line on top": "\n,arm,reward\n0, pl\u200bain\u00a0,1.5\n1,bold,−2\n",
    "two files in one": "arm;reward\nplain;1,5\narm;reward\nbold;-2\n",
    "the unit in every cell": "arm;reward\nplain;1,5 mV\nbold;-2mV\n",
}


@pytest.mark.parametrize("text", THE_SAME.values(), ids=THE_SAME)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_what_spreadsheets_write_is_read(tmp_path, text, encoding):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sample = read(tmp_path, text.lstrip("\ufeff" if encoding == "utf-16" else ""), encoding=encoding, unit="mV")
    assert sample.counts.tolist() == [1, 1, 0] and sample.sums.tolist() == [1.5, -2.0, 0.0]


@pytest.mark.parametrize(
    ("content", "sums"),
    [
        ("arm;reward\nplain;1,500\nbold;0,123\n", [1.5, 0.123, 0]),
        ("arm;reward\nplain;0,5\nbold;1.234\npicture;987\n", [0.5, 1234, 987]),
        ("arm,reward\nplain,1.234\nbold,1.500\n", [1.234, 1.5, 0]),
        ("arm;reward\nplain;1.2340\nbold;1.500\n", [1.234, 1.5, 0]),
        ("arm;reward\nplain;1.234,5\nbold;1.234.567\n", [1234.5, 1234567, 0]),
        ("arm;reward\nplain;1 234\nbold;1 234,5\n", [1234, 1234.5, 0]),
        ("arm;reward\nplain;12'345\n", [12345, 0, 0]),
    ],
)
def test_decimal_marks_and_thousands_are_decided_by_the_whole_file(tmp_path, content, sums):
    assert read(tmp_path, content).sums.tolist() == sums


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            "page,reward\nplain,1\n",
            "line 1 of .*columns must be arm,reward .a row for each .* or arm,count,sum,squares, .*; got page,re",
        ),
        ("arm,day 1,day 2\nplain,1,2\n", "line 1 of .*a row for each measurement.*; got arm,day 1,day 2"),
        ("sep=;\narm;reward\nplain;1\nTotal;1\n", "line 4 of .*unknown arm 'Total'.*Delete rows of units"),
        ("arm,reward\nplain,1\nboldd,1\n", "line 3 of .*unknown arm 'boldd'; is it bold?"),
        ("arm,reward\nplain,1\nbold,inf\n", "line 3 of .*finite.* omitting a reading out of range biases"),
        ("arm,reward\nplain,1e200\n", "line 2 of .*1e.200, and squares too large: choose a larger unit"),
        ("arm,reward\nplain,>4.0\n", "line 2 of .*'>4.0' is not.* Leave a cell empty only if .* out of range biases"),
        ("arm,reward\nplain,TRUE\nbold,no\n", "line 2 of .*'TRUE' is not a finite number: write 1 and 0$"),
        ("arm;reward\nplain;1,5\nbold;01. Mai\n", "line 3 of .*spreadsheet may have turned the entry into a date"),
        ("arm,count,sum,squares\nplain,0,1,1\n", "line 2 of .*count is 0, but sum or squares is not 0"),
        (
            "arm,count,sum,squares\nplain,1.000,1,1\n",
            "line 2 of .*whole number without a point or a comma; got '1.000'",
        ),
        (
            "arm,count,sum\nplain,4,4\n",
            "line 1 of .*for rewards 0 and 1 copy sum into squares",
        ),
        ("arm,count,sum,squares\nplain,4,4,1\n", r"line 2 of .*squares is 1, below sum\^2 / count = 4"),
        ("arm;reward\nplain;1,500\n", "line 2 of .*may be a fraction or a thousand.* write 1,5000 .* 1500 if"),
        ("arm;reward\nplain;987\nplain;1.234\nbold;1.500\n", "line 3 of .*'1.234' may be .* write 1.2340 .* 1234 if"),
        (
            "arm;reward\nplain;0,5\nbold;45,5%\n",
            "line 3 of .*'45,5%' .* write 45,5, or its hundredth if the others are",
        ),
        ("arm,reward\nplain,12 mV\n", "line 2 of .*'12 mV' is not a finite number: leave the unit out, and write 12$"),
        ("arm;reward\nplain;1,5\nplain;3,5\nbold;2.5\n", "line 4 of .*'2.5' .*, where the other numbers have commas"),
        ("ticket,arm,reward,count\nA1-0001,plain,1,1\n", "has columns reward and count: leave one"),
        (b"PK\x03\x04...", "day.csv is a workbook or document, not a csv: save the sheet"),
        (b"arm,reward\npl\x81in,1\n", "line 2 of .*not text in cp1252: .* save the file as CSV UTF-8"),
        (b'arm,reward\n"' + b"x" * 200_000, "line 2 of .*day.csv: field larger than .* is a quotation mark open"),
    ],
)
def test_what_cannot_be_read_is_refused_by_line(tmp_path, content, message):
    with pytest.raises(ValueError, match=message):
        read(tmp_path, content)


def test_columns_units_and_names_of_their_own(tmp_path):
    sample = read(tmp_path, "Vial;arm;OD\nplain;left;1,5\nbold;right;0,5\n", columns=("vial", "OD "))
    assert sample.sums.tolist()[:2] == [1.5, 0.5]
    with pytest.raises(ValueError, match="must be vial,od .* or vial,count,sum,squares"):
        read(tmp_path, "arm,reward\nplain,1\n", columns=("vial", "OD"))
    with pytest.raises(ValueError, match="line 2 of .*'12 µV' is not a finite number: write it in mV"):
        read(tmp_path, "arm,reward\nplain,12 µV\n", unit="mV")
    assert read(tmp_path, "arm;reward\nGröße 1;37,7 %\n", ["Größe 1"], encoding="latin-1", unit="%").sums == [37.7]
    with pytest.raises(ValueError, match="names must differ; 'plain' names arms 0 and 2"):
        read(tmp_path, "arm,reward\nplain,1\n", ["plain", "bold", "plain "])


def test_a_missing_reward_is_no_pull_and_still_asked_for(tmp_path):
    lab = Lab(rage(np.eye(3), delta=0.05))
    wanted = lab.ask()
    with pytest.warns(UserWarning, match=r"day.csv has no reward in 3 rows, line 3, 4, 5: .*failed by accident"):
        lab.tell(read(tmp_path, "arm,reward\nplain,1\nplain,\nbold,NaN\nbold,n/a\nbold,2\n"))
    assert lab.ask().tolist() == (wanted - [1, 1, 0]).tolist()
    with pytest.warns(UserWarning, match="has no reward in 1 row, line 2: .*empty or NaN"):
        assert read(tmp_path, "arm,count,sum,squares\nplain,2,,\nbold,1,1,1\n").counts.tolist() == [0, 1, 0]
    with pytest.raises(ValueError, match="line 3 of .*unknown arm"):
        read(tmp_path, "arm,reward\nplain,1\nitalic,\n")
    path = tmp_path / "day.csv"
    path.write_text("arm;count;sum;squares\nplain;1.000;450,5;450,5\nbold;0;0;0\npicture;2,0;1;1\n")
    assert (
        read_measurements(path, NAMES).counts.tolist() == [1000, 0, 2] and len(read_measurements(path, NAMES).rows) == 2
    )
