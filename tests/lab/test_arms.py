"""Tables of arms: ordinary tables are read right, and every other one is refused by file, line, value and remedy."""

import re
import shlex
from pathlib import Path

import numpy as np
import pytest

from bandits_lab.arms import read_arms
from bandits_lab.tables import table, typed
from bandits_lib.numerics.span import basis

TABLE = "vial;Solvent;dose;supplier\nA;water;0,5;1\nB;ethanol;1,0;2\nC;water;1,5;3\nD;ether;2,0;1\n"
RAW = "run,rpm,pressure,gas\nA,1000,100000,air\nB,2000,200000,air\nC,3000,150000,argon\nD,2500,120000,air\n"
MANY = "vial,CAS\n" + "".join(f"{k},{k // 8}-{min(k, 6)}-x\n" for k in range(8))
DOTS = "vial;dose;yield\nA;1.234;{}\nB;1.500;2\nC;987;1\n"
COMMAS = 's,"time, h",-dG,"size ""in"",cost $"\na,1,1,1\nb,2,2,2\nc,3,3,3\nd,1,1,2\n'


def read(tmp_path, content, **options):
    (tmp_path / "arms.csv").write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_arms(tmp_path / "arms.csv", **options)


def test_arms_become_features(tmp_path):
    found = read(tmp_path, TABLE, codes=["supplier"])
    assert found.names == ["A", "B", "C", "D"]
    assert list(found.features) == [
        "ones",
        "solvent_ether",
        "solvent_water",
        "dose (scaled)",
        "supplier_2",
        "supplier_3",
    ]
    assert found.features.loc["D"].tolist() == [1, 1, 0, 1.0, 0, 0]
    assert read(tmp_path, TABLE, numbers="Supplier").features["supplier (scaled)"].tolist() == [-1, 0, 1, -1]
    assert "supplier_2" in read(tmp_path, TABLE, codes="Supplier").features
    assert list(read(tmp_path, TABLE, ignore=" Supplier").features)[3:] == ["dose (scaled)"]
    assert read(tmp_path, MANY.replace("7,0-6-x", "7,0-9-x"), codes="CAS").features.shape == (8, 8)


def test_scaled_features_keep_their_rank_and_span_what_raw_ones_do(tmp_path):
    scaled = read(tmp_path, RAW).with_squares("RPM")
    assert list(scaled.features) == ["ones", "rpm (scaled)", "pressure (scaled)", "gas_argon", "rpm (scaled)^2"]
    middle, curved = scaled.features.iloc[:, :4].to_numpy(), scaled.features.drop(columns="gas_argon").to_numpy()
    assert middle[:, 1:3].min() == -1 and middle[:, 1:3].max() == 1 and basis(curved).shape[1] == 4
    raw = scaled.described[["rpm", "pressure"]].to_numpy(float)
    np.testing.assert_allclose(middle @ np.linalg.lstsq(middle, raw)[0], raw, atol=1e-9)
    huge = read(tmp_path, "run,a,b\nA,-1e308,1\nB,1e308,1\nC,0,1\n").features
    assert huge.to_numpy().tolist() == [[1, -1], [1, 1], [1, 0]]
    with pytest.raises(ValueError, match=r"no feature 'flow'; there are ones, rpm \(scaled\)"):
        scaled.with_squares("flow")
    with pytest.raises(ValueError, match="'gas_argon' has 2 different values"):
        scaled.with_squares("gas_argon")


@pytest.mark.parametrize(
    ("content", "headless"),
    [
        ("R1;0,5;20\nR2;1,5;30\nR3;0,25;10\nR4;2,5;15\n", True),
        ("CO,KOAc,4.5\nCO,CsF,3.5\nC1COCC1,CsF,98.25\nN#CC,CsF,0.5\n", True),
        ("sample,400,500\na,0.51,1.2\nb,1.3,0.2\nc,0.2,0.7\n", False),  # absorbances at two wavelengths
        ("sample,2,dose\na,0.5,1.2\nb,3.3,0.2\nc,0.2,0.7\n", False),
        ("sample,1,solvent\n", False),
    ],
)
def test_a_file_without_names_of_columns_is_refused(tmp_path, content, headless):
    (tmp_path / "arms.csv").write_text(content)
    if headless:
        with pytest.raises(ValueError, match=r"line 1 of .*arms.csv has numbers like those below: insert a line with"):
            table(tmp_path / "arms.csv")
    else:
        assert len(table(tmp_path / "arms.csv").rows) == content.count("\n") - 1


def test_codes_that_look_like_powers_of_ten_are_asked_for(tmp_path):
    codes = "vial,batch,dose\na,171E2,1.5e3\nb,503E1,2e3\nc,22E1,0.5\nd,7E5,1\n"
    with pytest.raises(ValueError, match="whole numbers of 'batch' may be quantities or codes: give --numbers batch"):
        read(tmp_path, codes)
    assert read(tmp_path, codes, numbers="batch").described["batch"].tolist() == [17100, 5030, 220, 7e5]
    assert read(tmp_path, codes, codes="batch").described["batch"].tolist() == ["171E2", "503E1", "22E1", "7E5"]


NO_NAMES = "ligand,base\nXPhos,KOAc\nXPhos,CsF\nSPhos,CsF\n"
SMILES = "s,solvent,t\na,c1ccccc1,1\nb,C1CCCCC1,1\nc,c1ccccc1,2\n"


@pytest.mark.parametrize(
    ("content", "options", "names", "described"),
    [
        ("s,cation,c\ns1,Li,1\ns2,Na,1\ns3,K,2\n", {"codes": "cation"}, "s1 s2 s3", [["Li", 1], ["Na", 1], ["K", 2]]),
        (SMILES, {"codes": "solvent"}, "a b c", [["c1ccccc1", 1], ["C1CCCCC1", 1], ["c1ccccc1", 2]]),
        (",solvent,temp\n0,a,0.5\n1,b,1.5\n", {}, "0 1", [["a", 0.5], ["b", 1.5]]),
        ("dose;Vial\n0,5;A\n1,5;B\n", {"arm": "VIAL"}, "A B", [[0.5], [1.5]]),
        (NO_NAMES, {"arm": None}, "1 2 3", [["XPhos", "KOAc"], ["XPhos", "CsF"], ["SPhos", "CsF"]]),
        ("x,y\n0.5,1\n0.7,2\n", {"arm": "x"}, "0.5 0.7", [[1], [2]]),
        ('rxn,"T\n(C)"\nr1,20.5\n"long\r\nname",23.5\n', {}, "r1 long|name", [[20.5], [23.5]]),
        ("run;rpm;t\na;1\u00a0000;20,5\nb;12\u202f000;30,5\n", {}, "a b", [[1000, 20.5], [12000, 30.5]]),
        ('a,b\nx,"1,000"\ny,"12,500.5"\n', {}, "x y", [[1000], [12500.5]]),
        (DOTS.format("0,5"), {}, "A B C", [[1234, 0.5], [1500, 2], [987, 1]]),
        (DOTS.format("0.5"), {}, "A B C", [[1.234, 0.5], [1.5, 2], [987, 1]]),
        ('\n;;\na;b;\nx;\'0,5\ny;="1,5"\n;;\n', {}, "x y", [[0.5], [1.5]]),
        ("a;b\nx;1\na;b\ny;2\n", {}, "x y", [[1], [2]]),
        ("# made by hand, on Monday\n#\n\n#;b;c\nx;1,5;2\ny;2,5;3\n", {}, "x y", [[1.5, 2], [2.5, 3]]),
    ],
)
def test_ordinary_tables_are_read(tmp_path, content, options, names, described):
    found = read(tmp_path, content, **options)
    assert found.names == [name.replace("|", " ") for name in names.split()]
    assert found.described.to_numpy().tolist() == described


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        (
            TABLE,
            {},
            "few whole numbers of 'supplier' may .* give --numbers supplier if equal .*, or --codes supplier if",
        ),
        (COMMAS, {}, r"give --numbers 'time, h' --numbers=-dG --numbers 'size \"in\",cost \$' if"),
        (TABLE, {"codes": ["price"]}, "no column 'price'; its columns are vial, Solvent, dose, supplier"),
        (TABLE, {"numbers": "dose", "codes": "dose"}, "column 'dose' is given twice, among"),
        (TABLE, {"numbers": "solvent"}, "line 2 of .*Solvent 'water' is not a finite number"),
        (TABLE.replace("1,5", ""), {}, "line 4 of .*dose is empty: correct it, delete the line if .*--ignore"),
        (TABLE.replace("1,5", "1,S"), {}, "line 4 of .*'1,S'.*; or, if the column holds words, give --codes dose"),
        (TABLE.replace("\nA", "\n;°C;mL;\nA", 1), {}, "line 2 of .*vial is empty: name the arm, or delete the row"),
        (TABLE.replace("C;", "A;"), {}, "lines 2 and 4 of .*names must differ; both are 'A': .*--number-arms"),
        ("x,y\n0.5,1\n0.7,2\n", {}, "'x', holds numbers with fractions: name .* --arm-column x if .*--number-arms"),
        ("v,T,t\nA,1,2\nB,2,3\n", {}, "line 1 of .*columns 'T' and 't', with the same name: rename one"),
        (
            TABLE.replace("C;water", "C;Water "),
            {},
            r"'water' \(line 2\) and 'Water' \(line 4\) differ only .*--codes S",
        ),
        (MANY, {}, "column 'CAS' of .* 7 different words for 8 arms, so it .*--ignore CAS; .*, give --codes CAS"),
        ("v,t\nA,40 °C\nB,60 °C\nC,50 °C\n", {}, r"such as '40 °C': write the unit into the first line .'t \[°C\]'"),
        ("v;t\nA;99\nB;98 mM\n", {}, "line 3 of .*'98 mM' .* write 98, and the unit into the first line; or, if the"),
        ("v,t\nA,1.2 ± 0.1\nB,1.3 ± 0.1\n", {}, "line 2 of .*'1.2 ± 0.1' .*write one number, such as .* a mean"),
        ("v,t\nA,1.5\nB,01. Mai\n", {}, "line 3 of .*'01. Mai' .*spreadsheet may have turned the entry into a date"),
        (
            "v,a,b\nA,x,1\nB,y,2\nC,x,1.0\n",
            {},
            r"'A' \(line 2\) and 'C' \(line 4\) are alike in all columns.* a file for tell",
        ),
        (
            "v,a,b\nA,3,1\nB,1,2\nC,1,2\nD,2,2\nE,2,2\n",
            {},
            r"may be quantities or codes: .* categories. Also, 'B' \(line 3\) and 'C' \(line 4\); 'D' .* are alike",
        ),
        ("v,a,a_b\nA,a,c\nB,b_c,b\nC,a,b\n", {}, "two features the name 'a_b_c'"),
        (DOTS.format("3"), {}, "line 2 of .*dose '1.234' may be a fraction or a thousand.* write 1.2340"),
        ("My arms\nv;t\nA;1\n", {}, "line 2 of .* has 2 fields, and line 1, .* has 1: .* delete titles and notes"),
        ("", {}, "must have a column of names"),
        ('v;a\nA;"1\nB;2\n', {}, "line 2 of .* is a quotation mark open"),
    ],
)
def test_arms_that_cannot_be_right_are_refused(tmp_path, content, options, message):
    with pytest.raises(ValueError, match=message):
        read(tmp_path, content, **options)


def test_options_are_printed_as_windows_takes_them(monkeypatch):
    monkeypatch.setattr("os.name", "nt")
    assert typed("--numbers", "batch no", "-dG") == '--numbers "batch no" --numbers=-dG'


# --- the command import


KNOWN = "rxn,temp,Yield,price\n" + "".join(f"r{k},{20.5 + k},{(k - 2) ** 2},{1 + k}\n" for k in range(5))


def test_the_columns_of_results_and_costs_are_no_descriptors(run):
    Path("known.csv").write_text(KNOWN)
    said = run("import", "known.csv", "--reward-column", "yield", "--cost", "price", "--sigma", "1")
    assert "a sum of a straight line in temp; nothing" in said and "Yield: the results, so it is left out" in said
    Path("known.csv").write_text(KNOWN.replace("Yield", "reward"))
    assert "a sum of a straight line in temp;" in run("import", "known.csv", "--ignore", "price", "--folder", "other")


def test_options_are_taken_as_they_are_printed(run):
    Path("arms.csv").write_text(COMMAS)
    printed = run("import", "arms.csv", code=2).partition("give ")[2].partition(" if equal")[0]
    said = run("import", "arms.csv", *shlex.split(printed), "--folder", "my experiment")
    again = shlex.split(said.partition("import again with ")[2].partition("\n")[0])
    assert len(again) == 5 and said.endswith("Next: ask --folder 'my experiment'\n")
    assert 'a parabola in time, h, a parabola in -dG, a parabola in size "in",cost $;' in run(
        "import", "arms.csv", *shlex.split(printed), *again, "--folder", "my experiment"
    )


def test_arms_without_names_are_numbered(run):
    Path("arms.csv").write_text(NO_NAMES)
    assert "--number-arms" in run("import", "arms.csv", code=2)
    said = run("import", "arms.csv", "--number-arms")
    assert "3 arms, from 1 to 3" in said and "'arm' and 'reward'" in said
    assert "as many unknown numbers as arms" in said


def test_a_changed_table_is_named_and_the_imported_one_is_used(run):
    Path("known.csv").write_text(KNOWN)
    run("import", "known.csv", "--ignore", "yield,price", "--sigma", "1")
    before = run("ask")
    Path("known.csv").write_text(KNOWN.replace("r1,", "r1"))
    after = run("ask")
    assert after.endswith(before) and "known.csv is not the table that was imported" in after
    Path("known.csv").unlink()
    assert run("ask") == before


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--sigma", "1,500"], "--sigma: '1,500' may be a fraction or a thousand: write 1,5000 .* or 1500 if"),
        (["--accept", "1_0"], "--accept: '1_0' is not a finite number"),
        (["--delta", "5%"], "--delta: '5%' is not a finite number: leave .* or its hundredth"),
        (["--budget", "0"], "--budget: '0' is not a whole number of at least 1"),
        (["--budget", "100", "--accept", "1"], "--accept: not allowed with argument --budget"),
        (["--number-arms", "--arm-column", "rxn"], "--arm-column: not allowed with argument --number-arms"),
        (["--numbers", "temp", "--codes", "temp"], "Column 'temp' is given twice"),
        (["--reward-column", "rxn"], "in different columns"),
    ],
)
def test_options_that_cannot_be_meant_are_refused(run, given, said):
    Path("known.csv").write_text(KNOWN)
    assert re.search(said, run("import", "known.csv", *given, code=2))
    assert not Path("experiment.json").exists()


@pytest.mark.parametrize("name", ["to_measure.csv", "Pilot.csv", "log.jsonl", "measured_0001.csv", "report.html"])
def test_a_table_with_the_name_of_a_file_of_the_commands_is_refused(run, name):
    Path(name).write_text(KNOWN)
    assert f"{name} is the name of a file that the program writes: rename" in run("import", name, code=2)
    assert Path(name).read_text() == KNOWN
