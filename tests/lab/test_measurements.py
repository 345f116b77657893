"""A laboratory's files: good rows add up, a bad one is named by its line and nothing of the file is kept."""

import warnings
from hashlib import sha256

import numpy as np
import pytest

from bandits_lab import Lab
from bandits_lab.arms import read_arms
from bandits_lab.measurements import read_measurements
from bandits_lib import Sample
from bandits_lib.fixed_confidence import rage
from bandits_lib.numerics.span import basis

NAMES = ["plain", "bold", "picture"]


def write(tmp_path, text):
    path = tmp_path / "day.csv"
    path.write_text(text)
    return path


def test_one_row_per_pull(tmp_path):
    sample = read_measurements(write(tmp_path, "arm,reward\nplain,1\nbold,0.5\nplain,-2\n"), NAMES)
    expected = Sample.of([0, 1, 0], [1.0, 0.5, -2.0], 3)
    for mine, theirs in zip(sample, expected, strict=True):
        np.testing.assert_array_equal(mine, theirs)


def test_counted_rows_are_the_same_pulls(tmp_path):
    counted = read_measurements(write(tmp_path, "arm,count,sum,squares\nplain,2,-1,5\nbold,1,0.5,0.25\n"), NAMES)
    single = read_measurements(write(tmp_path, "arm,reward\nplain,1\nbold,0.5\nplain,-2\n"), NAMES)
    for mine, theirs in zip(counted, single, strict=True):
        np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize(
    "text, message",
    [
        ("page,reward\nplain,1\n", "line 1 of .*columns must be arm,reward or arm,count,sum,squares"),
        ("", "line 1 of"),
        ("arm,reward\nplain,1\nitalic,1\n", "line 3 of .*unknown arm 'italic'; the arms are plain, bold, picture"),
        ("arm,reward\nplain,one\n", "line 2 of .*reward must be a finite number; got 'one'"),
        ("arm,reward\nplain,1\nbold,inf\n", "line 3 of .*finite.* omitting a reading out of range biases"),
        ("arm,reward\nplain,1,2\n", "line 2 of .*3 fields"),
        ("arm,count,sum,squares\nplain,2.5,1,1\n", "line 2 of .*whole number"),
        ("arm,count,sum,squares\nplain,-1,0,0\n", "line 2 of .*whole number of at least 0"),
        ("arm,count,sum,squares\nplain,0,1,1\n", "line 2 of .*count is 0, but sum or squares is not 0"),
        (
            "arm,count,sum,squares\nplain,1.000,1,1\n",
            "line 2 of .*count '1.000' is not a whole number: write 1 or 1000",
        ),
        (
            "arm,count,sum\nplain,4,4\n",
            "line 1 of .*for rewards 0 and 1 copy sum into squares; otherwise write one row",
        ),
        ("arm,count,sum,squares\nplain,4,4,1\n", r"line 2 of .*squares is 1, below sum\^2 / count = 4"),
        (
            "arm,reward\nplain,1\nplain,1\nplain,1\n",
            "line 4 of .*more measurements of plain than the 2 that were asked for: keep only as many of each",
        ),
        ("arm,reward\npicture,1\n", "line 2 of .*than the 0 that were asked for.* told before"),
    ],
)
def test_bad_rows_are_refused_by_line(tmp_path, text, message):
    with pytest.raises(ValueError, match=message):
        read_measurements(write(tmp_path, text), NAMES, wanted=np.array([2, 5, 0]))


def test_a_refused_file_changes_nothing_and_the_mended_one_goes_on(tmp_path):
    lab = Lab(rage(np.eye(3), delta=0.05))
    wanted = lab.ask()
    rows = "".join(f"{name},{n},{n},{n}\n" for name, n in zip(NAMES, wanted, strict=True))
    with pytest.raises(ValueError, match="line 5"):
        lab.tell(read_measurements(write(tmp_path, f"arm,count,sum,squares\n{rows}bold,1,1,1\n"), NAMES, wanted))
    assert not lab.log and (lab.ask() == wanted).all()
    lab.tell(read_measurements(write(tmp_path, f"arm,count,sum,squares\n{rows}"), NAMES, wanted))
    assert len(lab.log) == 1


# --- files as people have them

THE_SAME = {
    "Excel, CSV UTF-8": "\ufeffarm,reward\r\nplain,1.5\r\nbold,-2\r\n\r\n",
    "capitals, spaces, other columns, any order": "Well, Reward ,ARM\nA1,1.5, plain\nA2,-2,bold \n",
    "semicolons and decimal commas": "arm;reward\nplain;1,5\nbold;-2\n",
    "what Excel puts first": "sep=;\nArm;Reward\nplain;1,5\nbold;-2\n;;\n\n",
    "tabs": "arm\treward\nplain\t1,5\nbold\t-2,0\n",
    "quoted": 'arm,reward\n"plain","1,5"\n"bold","-2"\n',
    "too many separators": "arm,reward\nplain,1.5,,\nbold,-2,,\n,,,\n",
    "an old Macintosh": "arm,reward\rplain,1.5\rbold,-2\r",
}


@pytest.mark.parametrize("text", THE_SAME.values(), ids=THE_SAME)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-16-le", "utf-16-be"])
def test_what_spreadsheets_write_is_read(tmp_path, text, encoding):
    (tmp_path / "day.csv").write_bytes(text.lstrip("\ufeff" if encoding == "utf-16" else "").encode(encoding))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sample = read_measurements(tmp_path / "day.csv", NAMES)
    assert sample.counts.tolist() == [1, 1, 0] and sample.sums.tolist() == [1.5, -2.0, 0.0]


def test_names_of_another_code_page_are_read(tmp_path):
    (tmp_path / "day.csv").write_bytes("arm;reward\nGröße 1;1,5\n".encode("latin-1"))
    assert read_measurements(tmp_path / "day.csv", ["Größe 1"]).sums.tolist() == [1.5]


@pytest.mark.parametrize(
    "content, message",
    [
        (b"PK\x03\x04...", "day.csv is a workbook, not a csv: save the sheet"),
        (b"arm,reward\npl\x81in,1\n", "line 2 of .*not text in cp1252: save the file as CSV UTF-8"),
        (b"arm;reward\nplain;1,500\n", "line 2 of .*may be a fraction or a thousand.* write 1,5000 .* write 1500"),
        (
            b"arm;reward\nplain;987\nplain;1.234\nbold;1.500\n",
            "line 3 of .*'1.234' may be .* write 1.2340 .* write 1234",
        ),
        (b"arm\treward\nplain\t-1.234\n", "line 2 of .*'-1.234' may be .* write -1.2340 .* write -1234"),
        (b"arm;reward\nplain;1,234\nbold;1.234\n", "line 2 of .*'1,234' may be"),
        (b"arm;count;sum;squares\nplain;2,000;1,5;1,25\n", "line 2 of .*count '2,000' .* write 2 or 2000"),
        (b"arm,reward\nplain,45 %\n", "line 2 of .*got '45 %': write 0.45$"),
        (b"arm;reward\nplain;0,5\nbold;45,5%\n", "line 3 of .*got '45,5%': write 0,455$"),
        (b"arm;reward\nplain;38,9\nbold;37,7 %\n", "line 3 of .*got '37,7 %': write 37,7$"),
        (b"arm;reward\nplain;37,7 %\n", "line 2 of .*got '37,7 %': write 0,377$"),
        (b"arm;reward\nplain;1.234,5\n", "line 2 of .*got '1.234,5': write 1234.5$"),
        (b"arm;reward\nplain;1 234\n", "line 2 of .*got '1 234': write 1234$"),
        (b"arm;reward\nplain;1.234.567\n", "line 2 of .*got '1.234.567': write 1234567$"),
        (b"arm,reward\nplain,12 mV\n", "line 2 of .*got '12 mV': write 12$"),
        (
            b"arm;reward\nplain;1,5\nplain;3,5\nbold;2.5\n",
            "line 4 of .*'2.5', where the other numbers have commas: write",
        ),
        (b"arm,reward\nplain,1\nboldd,1\n", "line 3 of .*unknown arm 'boldd'; is it bold?"),
        (
            b"arm;reward\nplain;1,5\nplain;2.5\n",
            "line 2 of .*'1,5', where the other numbers have points: write it with a point",
        ),
        (b"arm,reward\nplain,>4.0\n", "line 2 of .*got '>4.0'. Leave a cell empty only if .* out of range biases"),
        (b"arm,reward\nplain,#DIV/0!\n", "line 2 of .*got '#DIV/0!'"),
        (b"arm,reward,Arm\nplain,1,1\n", "line 1 of .*two columns 'arm'"),
        (b"arm,reward,count\nplain,1,1\n", "has columns reward and count: leave one"),
        (b"sep=;\narm;reward\nplain;1\nitalic;1\n", "line 4 of .*unknown arm 'italic'"),
        (b"arm,reward\nplain\n", "line 2 of .*1 fields, but the first line has 2"),
        (b'arm,reward\n"' + b"x" * 200_000, "line 2 of .*field larger than .* is a quotation mark open"),
        (b"arm,reward\nplain,1_000\n", "line 2 of .*finite number; got '1_000'"),
    ],
)
def test_what_cannot_be_read_is_refused_by_line(tmp_path, content, message):
    (tmp_path / "day.csv").write_bytes(content)
    with pytest.raises(ValueError, match=message):
        read_measurements(tmp_path / "day.csv", NAMES)


def test_decimal_commas_with_three_digits_are_read_where_another_number_proves_them(tmp_path):
    for other in ("0,123", "1,5", "1234,567"):
        sample = read_measurements(write(tmp_path, f"arm;reward\nplain;1,500\nbold;{other}\n"), NAMES)
        assert sample.sums.tolist()[:2] == [1.5, float(other.replace(",", "."))]


@pytest.mark.parametrize("text", ["0,5", "12,25", "1,5e3"])
def test_points_are_thousands_beside_decimal_commas(tmp_path, text):
    path = write(tmp_path, f"arm;reward\nplain;{text}\nbold;1.234\npicture;987\n")
    assert read_measurements(path, NAMES).sums.tolist() == [float(text.replace(",", ".")), 1234.0, 987.0]
    path = write(tmp_path, "arm;count;sum;squares\nplain;1.000;450,5;450,5\nbold;987;1;1\n")
    assert read_measurements(path, NAMES).counts.tolist() == [1000, 987, 0]


def test_points_are_fractions_where_something_tells_it(tmp_path):
    for text in ("arm,reward\nplain,1.234\nbold,1.500\n", "arm;reward\nplain;1.234\nbold;1.500\npicture;0.987\n"):
        assert read_measurements(write(tmp_path, text), NAMES).sums.tolist()[:2] == [1.234, 1.5]
    path = write(tmp_path, "arm;reward\nplain;1.2340\nbold;1.500\n")  # what the message says to write
    assert read_measurements(path, NAMES).sums.tolist() == [1.234, 1.5, 0.0]


def test_a_row_without_pulls_says_nothing(tmp_path):
    path = write(tmp_path, "arm,count,sum,squares\nplain,0,0,0\nbold,2.0,1,1\n")
    assert read_measurements(path, NAMES, wanted=np.array([0, 2, 0])).counts.tolist() == [0, 2, 0]
    assert len(read_measurements(path, NAMES).rows) == 1


def test_a_missing_reward_is_no_pull_and_still_asked_for(tmp_path):
    lab = Lab(rage(np.eye(3), delta=0.05))
    wanted = lab.ask()
    path = write(tmp_path, "arm,reward\nplain,1\nplain,\nbold,NaN\nbold,n/a\nbold,2\n")
    with pytest.warns(UserWarning, match=r"3 rows of .*day.csv have no reward .lines 3, 4, 5.*failed by accident"):
        lab.tell(read_measurements(path, NAMES, wanted))
    assert lab.ask().tolist() == (wanted - [1, 1, 0]).tolist()
    with pytest.warns(UserWarning, match="1 row of .*has no reward .line 2.*empty or NaN"):
        path = write(tmp_path, "arm,count,sum,squares\nplain,2,,\nbold,1,1,1\n")
        assert read_measurements(path, NAMES).counts.tolist() == [0, 1, 0]
    with pytest.raises(ValueError, match="line 3 of .*unknown arm"):
        read_measurements(write(tmp_path, "arm,reward\nplain,1\nitalic,\n"), NAMES)


def test_names_must_differ(tmp_path):
    with pytest.raises(ValueError, match="names must differ; 'plain' names arms 0 and 2"):
        read_measurements(write(tmp_path, "arm,reward\nplain,1\n"), ["plain", "bold", "plain "])


def test_rows_one_by_one_keep_their_order(tmp_path):
    path = write(tmp_path, "arm,ticket,reward\nplain,K1,1\nbold,,3\nplain,K2,2\n")
    found = read_measurements(path, NAMES)
    assert found.rows == (("K1", 0, 1, 1.0, 1.0, 2), ("", 1, 1, 3.0, 9.0, 3), ("K2", 0, 1, 2.0, 4.0, 4))
    assert found.file == path.name and found.sha256 == sha256(path.read_bytes()).hexdigest()


# --- arms

TABLE = "vial;Solvent;dose;supplier\nA;water;0,5;1\nB;ethanol;1,0;2\nC;water;1,5;3\nD;ether;2,0;1\n"


def test_arms_become_features(tmp_path):
    found = read_arms(write(tmp_path, TABLE), codes=["supplier"], scale=False)
    assert found.names == ["A", "B", "C", "D"]
    assert list(found.features) == ["ones", "solvent_ether", "solvent_water", "dose", "supplier_2", "supplier_3"]
    assert found.features.loc["D"].tolist() == [1, 1, 0, 2.0, 0, 0]
    slope = read_arms(write(tmp_path, TABLE), numbers="Supplier", scale=False).features
    assert slope["supplier"].tolist() == [1, 2, 3, 1]
    assert "supplier_2" in read_arms(write(tmp_path, TABLE), codes="Supplier").features
    left = read_arms(write(tmp_path, TABLE), ignore=" Supplier").features
    assert list(left) == ["ones", "solvent_ether", "solvent_water", "dose (scaled)"]
    empty = "\n".join(f"{line};;" for line in TABLE.splitlines())
    assert read_arms(write(tmp_path, empty), ignore=["supplier"]).features.equals(left)
    bare = TABLE.replace("supplier\n", "supplier;;\n")
    assert read_arms(write(tmp_path, bare), ignore=["supplier"]).features.equals(left)


RAW = "run,rpm,pressure,gas\nA,1000,100000,air\nB,2000,200000,air\nC,3000,150000,argon\nD,2500,120000,air\n"


def test_scaled_features_keep_their_rank_and_span_what_raw_ones_do(tmp_path):
    path = write(tmp_path, RAW)
    scaled = read_arms(path).with_squares("RPM").with_products(("rpm", "pressure"))
    assert list(scaled.features)[1:3] == ["rpm (scaled)", "pressure (scaled)"]
    assert list(scaled.features)[4:] == ["rpm (scaled)^2", "rpm (scaled)*pressure (scaled)"]
    middle = scaled.features.iloc[:, :4].to_numpy()
    assert middle[:, 1:3].min() == -1 and middle[:, 1:3].max() == 1
    raw = read_arms(path, scale=False).features.to_numpy()
    np.testing.assert_allclose(middle @ np.linalg.lstsq(middle, raw)[0], raw, atol=1e-9)
    curved = read_arms(path, scale=False).with_squares("rpm").features.drop(columns="gas_argon").to_numpy()
    mild = read_arms(path).with_squares("rpm").features.drop(columns="gas_argon").to_numpy()
    assert basis(mild).shape[1] == 4 > basis(curved).shape[1]  # why scale=True is the default
    huge = read_arms(write(tmp_path, "run,a,b\nA,-1e308,1\nB,1e308,1\nC,0,1\n")).features
    assert huge.to_numpy().tolist() == [[1, -1], [1, 1], [1, 0]]


def test_features_that_cannot_be_made_are_refused(tmp_path):
    found = read_arms(write(tmp_path, RAW))
    with pytest.raises(ValueError, match=r"no feature 'flow'; there are ones, rpm \(scaled\)"):
        found.with_squares("flow")
    with pytest.raises(ValueError, match="'gas_argon' has 2 different values"):
        found.with_squares("gas_argon")
    with pytest.raises(ValueError, match="pairs must be two features each"):
        found.with_products("rpm")
    words = read_arms(write(tmp_path, TABLE), codes="supplier")
    with pytest.raises(ValueError, match="is the same for all arms"):
        words.with_products(("solvent_ether", "solvent_water"))


MANY = "vial,CAS\n" + "".join(f"{k},{k // 8}-{min(k, 6)}-x\n" for k in range(8))
DOTS = "vial;dose;yield\nA;1.234;{}\nB;1.500;2\nC;987;1\n"


def test_what_another_column_tells_counts(tmp_path):
    doses = read_arms(write(tmp_path, DOTS.format("0,5")), scale=False).features["dose"]
    assert doses.tolist() == [1234, 1500, 987]
    doses = read_arms(write(tmp_path, DOTS.format("0.5")), scale=False).features["dose"]
    assert doses.tolist() == [1.234, 1.5, 987]


@pytest.mark.parametrize(
    "text, options, message",
    [
        (
            TABLE,
            {},
            r"column .supplier. .* a few .*: write --numbers \"supplier\" if equal .*, or --codes \"supplier\" if",
        ),
        (TABLE, {"codes": ["price"]}, "no column 'price'; its columns are solvent, dose, supplier"),
        (TABLE, {"numbers": 3}, "columns must be given by their names; got 3"),
        (TABLE, {"ignore": ["price"]}, "no column 'price'; its columns are solvent, dose, supplier"),
        (TABLE.replace("1,5", ""), {}, r"line 4 of .*dose is empty: .*--ignore .in Python: ignore="),
        (TABLE.replace("1,5", "NaN"), {}, r"line 4 of .*dose is NaN: .*--ignore .in Python: ignore="),
        (
            TABLE.replace("1,5", "1,S"),
            {},
            r"line 4 of .*dose must be a finite .* got '1,S'; or, if column 'dose' holds words, name it with --codes",
        ),
        (TABLE.replace("C;", "A;"), {"codes": ["supplier"]}, "lines 2 and 4 of .*names must differ; both are 'A'"),
        (TABLE.replace("dose", ""), {"codes": ["supplier"]}, "column 3 of .*has no name"),
        (TABLE.replace("C;water", "C;Water "), {}, r"'water' \(line 2\) and 'Water' \(line 4\) differ only in"),
        (
            MANY,
            {},
            r"column 'cas' of .* has 7 different words for 8 arms, so it .*--ignore .*, list the column under --codes",
        ),
        ("v,w\nA,x\nB,y\nC,z\n", {}, "column 'w' of .* has 3 different words for 3 arms, so it may"),
        ("v,t\nA,40 °C\nB,60 °C\nC,40°C\n", {}, "'40 °C' .line 2. and '40°C' .line 4. differ only in capitals"),
        ("v,t\nA,40 °C\nB,60 °C\nC,50 °C\n", {}, r"such as '40 °C': write the unit into the first line .'t \[°C\]'"),
        ("v;t\nA;99,5 %\nB;99 %\n", {}, "such as '99,5 %': write the unit into the first line"),
        (
            "v;t\nA;99\nB;98 mM\n",
            {},
            "line 3 of .*got '98 mM': write 98, and the unit into the first line; or, if column 't' holds words",
        ),
        ("v,a,b\nA,x,1\nB,y,2\nC,x,1.0\n", {}, r"'A' \(line 2\) and 'C' \(line 4\) are alike in all columns"),
        ("v,a,a_b\nA,a,c\nB,b_c,b\nC,a,b\n", {}, "two features the name 'a_b_c'"),
        ("v,ones\nA,1\nB,2\n", {"scale": False}, "two features the name 'ones'"),
        (DOTS.format("3"), {}, "line 2 of .*dose '1.234' may be a fraction or a thousand.* write 1.2340"),
        ("vial\nA\n", {}, "must have a column of names, at least one other"),
        ("vial;dose\n", {}, "a row for every arm"),
        ("", {}, "must have a column of names"),
    ],
)
def test_arms_that_cannot_be_right_are_refused(tmp_path, text, options, message):
    with pytest.raises(ValueError, match=message):
        read_arms(write(tmp_path, text), **options)


def test_many_words_are_read_where_it_is_said(tmp_path):
    assert read_arms(write(tmp_path, MANY.replace("7,0-6-x", "7,0-9-x")), codes="CAS").features.shape == (8, 8)


def test_a_file_with_column_names_of_its_own(tmp_path):
    path = write(tmp_path, "Vial;arm;OD\nplain;left;1,5\nbold;right;0,5\n")
    assert read_measurements(path, NAMES, columns=("vial", "OD ")).sums.tolist()[:2] == [1.5, 0.5]
    with pytest.raises(ValueError, match="must be vial,od or vial,count,sum,squares"):
        read_measurements(write(tmp_path, "arm,reward\nplain,1\n"), NAMES, columns=("vial", "OD"))


def test_the_names_of_arms_may_stand_in_any_column(tmp_path):
    path = write(tmp_path, "dose;Vial\n0,5;A\n1,5;B\n")
    assert read_arms(path, arm="Vial").names == ["A", "B"]
    with pytest.raises(ValueError, match="no column 'flask'"):
        read_arms(path, arm="flask")


def test_all_columns_that_may_be_codes_are_named_at_once(tmp_path):
    rows = "".join(f"{k};{k % 3};{k // 3}\n" for k in range(9))
    with pytest.raises(ValueError, match="columns 'dose', 'batch' of .* --numbers"):
        read_arms(write(tmp_path, f"vial;dose;batch\n{rows}"))


def test_a_folder_in_the_place_of_a_file_is_named(tmp_path):
    with pytest.raises(OSError, match="cannot be read .*: give a csv that you may read"):
        read_measurements(tmp_path, ["plain"])
