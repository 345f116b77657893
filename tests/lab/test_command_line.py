"""The command line: from a spreadsheet to the answer, and every refusal is a sentence that loses nothing."""

import csv
import io
import json
import os
import re
import shutil
import subprocess
import sys
import threading
from contextlib import redirect_stdout
from functools import wraps
from html import escape
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from test_log import script

from bandits_lab import Lab
from bandits_lab import __main__ as command_line
from bandits_lab import log as logs
from bandits_lab.__main__ import main
from bandits_lib.files import locked

SD, K = 4.0, 40  # of rewards in a raw unit, and arms
TEMPERATURES, SOLVENTS = np.linspace(20.5, 60.0, 10), ["water", "ethanol", "toluol", "Ölsäure"]
NAMES = [f"Probe {k + 1:02d}" for k in range(K)]
MEANS = {f"Probe {k + 1:02d}": 300 + 2.0 * TEMPERATURES[k // 4] + 15 * (k % 4 == 3) for k in range(K)}
BEST = max(MEANS, key=MEANS.get)
IMPORT = ["import", "Arme.csv", "--unit", "mV", "--reward-column", "Signal"]


def comma(number):
    return f"{number:.3f}0".replace(".", ",")


def spreadsheet(path):
    """Arms as a German spreadsheet saves them: semicolons, decimal commas, the Western code page."""
    rows = [f"{NAMES[k]};{comma(TEMPERATURES[k // 4])};{SOLVENTS[k % 4]}" for k in range(K)]
    path.write_bytes("\r\n".join(["Küvette;Temperatur;Lösung", *rows]).encode("cp1252"))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    spreadsheet(tmp_path / "Arme.csv")
    return tmp_path


def measured(form, rng, means=MEANS, rows=None, missing=(), name="Küvette", reward="Signal"):
    """Fill the rewards of a form as a person would in a spreadsheet, all of it or the first rows."""
    path = Path(form)
    lines = list(csv.DictReader(path.read_text(encoding="utf-8-sig").splitlines(), delimiter=";"))[:rows]
    assert lines and all(line[reward] == "" for line in lines)
    for i, line in enumerate(lines):
        line[reward] = "" if i in missing else comma(means[line[name]] + SD * rng.standard_normal())
    content = [";".join(lines[0]), *(";".join(line.values()) for line in lines)]
    path.write_text("\n".join(content), encoding="cp1252")
    return path


def wanted(folder):
    path = folder / "to_measure.csv"
    return len(path.read_text(encoding="utf-8-sig").splitlines()) - 1 if path.exists() else 0


def told(folder):
    """Return the number of measurements in the log that were not taken back."""
    return sum(row[2] for record in logs.standing(logs.read(folder / "log.jsonl")[0]) for row in record["rows"])


def arguments(folder):
    return logs.read(folder / "log.jsonl")[0][0]["arguments"]


def test_from_a_spreadsheet_to_the_answer_with_unknown_sigma(folder, run):
    rng = np.random.default_rng(0)
    said = run(*IMPORT)
    assert "40 arms, from Probe 01 to Probe 40, 5 unknown numbers" in said
    assert "a sum of a straight line in Temperatur, a constant for each Lösung" in said and "--squares Temp" in said
    assert "Temperatur: numbers, 20.5 to 60" in said and "Lösung: words: ethanol, toluol, water, Ölsäure" in said
    assert "'Küvette' and 'Signal' in mV" in said and "sigma is unknown" in said and "Next: ask" in said
    assert "The arm with the largest mean reward is looked for" in said
    size = re.search(r"The first request asks for (\d+) measurements of 40 arms", said)[1]
    said = run("ask")
    assert "Probe 01" in said and f"{size} measurements of 40 arms are wanted" in said and int(size) == wanted(folder)
    assert "contains 40 of the 40 arms" in said and "plan --gap G --sigma S" in said
    first = (folder / "to_measure.csv").read_bytes()
    run("ask")
    assert (folder / "to_measure.csv").read_bytes() == first and wanted(folder) < 1_000
    total = wanted(folder)
    said = run("tell", str(measured("to_measure.csv", rng, missing=[3])))
    assert "to_measure.csv has no reward in 1 row, line 5: " in said and wanted(folder) == 1
    assert "1 measurement of 1 arm is wanted" in said
    assert f"{total - 1:,} taken, {total - 1:,} measurements in all" in said
    assert (folder / "measured_0001.csv").exists()
    for _ in range(20):
        if not wanted(folder):
            break
        said = run("tell", str(measured("to_measure.csv", rng)))
    assert f"The answer is {BEST} (Temperatur 60.0, Lösung Ölsäure)" in said
    assert "the highest Temperatur of all arms: a better arm may lie beyond" in said
    assert f"The answer is {BEST}" in run("ask")
    said = run("standings")
    assert "are in mV" in said and "pulls" not in said
    assert [line.split()[1] for line in said.splitlines() if line.endswith("yes")] == [BEST.split()[1]]
    assert "wrong with probability 0.005" in said
    page = folder / "report.html"
    assert "open it in a browser" in run("report")
    text = page.read_text(encoding="utf-8")
    assert f"The answer is {BEST}" in text and text.count("data:image/png") == 2 and "log.jsonl" in text
    assert f"{total - 1} rows were told before" in run("tell", "measured_0001.csv")
    (folder / "late.csv").write_text("Küvette;Signal\nProbe 01;300,5\n", encoding="utf-8")
    assert "asks for nothing" in run("tell", "late.csv", code=2)


def test_a_pilot_shows_sigma_to_a_plan_and_answers_requests(folder, run):
    rng = np.random.default_rng(1)
    run(*IMPORT)
    said = run("pilot")
    times = int(re.search(r"arms (\d+) times", said)[1])
    assert times >= 2 and f"{times * K} rows" in said
    assert "No reward" in run("pilot", "pilot.csv", code=2).replace("has no reward", "No reward")
    assert "--sigma S" in run("plan", "--gap", "12,5", code=2)
    measured("pilot.csv", rng)
    assert "enter them with the command pilot pilot.csv" in run("pilot", code=2)
    said = run("pilot", "pilot.csv")
    sigma, bound = map(float, re.search(r"about ([\d.]+) mV, and at most ([\d.]+) mV", said).groups())
    assert SD * 0.8 < sigma < SD * 1.25 and sigma < bound < 1.6 * SD
    assert arguments(folder)["sigma"] is None and told(folder) == times * K
    assert f"noise {sigma:.4g} mV" in run("plan", "--gap", "12,5", "--runs", "2")
    lab = command_line.Experiment(folder).lab()
    asked = Lab(command_line.Experiment(folder).rule()).ask()
    used = sum(part.counts for part, n in zip(lab.log, lab.requests, strict=True) if n == 1)
    assert used.tolist() == np.minimum(asked, times).tolist(), "each reading of the pilot answers a request"
    assert f"{times * K} rows were told before" in run("pilot", "pilot.csv") and told(folder) == times * K
    run("undo", "wrong cuvettes")
    assert told(folder) == 0 and "--sigma S" in run("plan", "--gap", "12,5", code=2)


def test_the_plan_names_arms_the_unit_and_the_rule(folder, run):
    run(*IMPORT)
    assert all(name in run("plan", code=2) for name in ("--gap G", "--sigma S"))
    assert "--sigma" in run("plan", "--gap", "12,5", code=2)
    said = run("plan", "--gap", "12,5", "--sigma", "4", "--runs", "5")
    assert re.search(r"Supposed: Probe \d\d is best, the next is 12.5 mV behind; noise 4 mV", said)
    assert "The command ask uses rage, which takes" in said and "pulls" not in said
    assert json.loads((folder / "experiment.json").read_text(encoding="utf-8"))["planned"]["gap"] == 12.5


def test_a_budget_is_spent_by_gse(folder, run):
    rng = np.random.default_rng(2)
    assert "at most 200 measurements are made" in run(*IMPORT, "--budget", "200")
    assert "gse" in run("plan", "--gap", "10", "--sigma", "4", "--runs", "5")
    said = run("ask")
    asked = int(re.search(r"The first request contains (\d+) of the 40 arms", said)[1])
    assert asked < K and f"measurements of {asked} arms are wanted" in said and "--budget" not in said
    for _ in range(20):
        if not wanted(folder):
            break
        said = run("tell", str(measured("to_measure.csv", rng)))
    assert "Note: " in said and "floor" not in said
    assert "The answer is" in said and "promises no probability" in said and told(folder) <= 200


def test_surplus_measurements_answer_later_requests(folder, run):
    rng = np.random.default_rng(3)
    run(*IMPORT, "--sigma", "4")
    run("ask")
    first = wanted(folder)
    path = measured("to_measure.csv", rng)
    head, *rows = path.read_text(encoding="cp1252").splitlines()
    more = [f";{r.split(';', 1)[1].rpartition(';')[0]};{comma(300 + SD * rng.standard_normal())}" for r in rows]
    (folder / "day.csv").write_text("\n".join([head, *rows, *more]), encoding="cp1252")
    path.unlink()
    assert "were asked for: leave the surplus out, or keep it for later requests with --extra." in run(
        "tell", "day.csv", code=2
    )
    said = run("tell", "day.csv", "--extra")
    assert told(folder) == 2 * first and f"{first} rows without a ticket: kept as extra measurements" in said
    assert f"{2 * first} rows were told before" in run("tell", "day.csv")
    assert told(folder) == 2 * first
    assert [path.name for path in folder.glob("measured_*")] == ["measured_0001.csv"]


def test_columns_plates_and_costs(folder, run):
    rng = np.random.default_rng(4)
    lines = (folder / "Arme.csv").read_text(encoding="cp1252").splitlines()
    prices = ["Preis", *(f"{1 + k % 3}" for k in range(K))]
    dear = [f"{price};{line}" for price, line in zip(prices, lines, strict=True)]
    (folder / "elsewhere").mkdir()
    (folder / "elsewhere" / "teuer.csv").write_text("\n".join(dear), encoding="utf-16")
    given = ["--folder", "lab", "--sigma", "4", "--plate", "96", "--cost", "preis", "--arm-column", "Küvette"]
    said = run("import", "elsewhere/teuer.csv", *given)
    assert "preis: cost of a measurement, 1 to 3" in said
    run("ask", "--folder", "lab")
    form = folder / "lab" / "to_measure.csv"
    head, *rows = form.read_text(encoding="utf-8-sig").splitlines()
    assert head == "plate;well;ticket;Küvette;Preis;Temperatur;Lösung;reward"
    assert [rows[i].split(";")[:2] for i in (0, 95, 96)] == [["1", "A1"], ["1", "H12"], ["2", "A1"]]
    measured(form, rng, reward="reward")
    said = run("tell", "to_measure.csv", "--folder", "lab")
    assert "measurements in all" in said and arguments(folder / "lab")["cost"][:3] == [
        1,
        2,
        3,
    ]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["ask"], "There is no experiment"),
        (["import", "none.csv"], "There is no file none.csv"),
        (["import", "."], "that is a folder"),
        (["import", "Arme.csv", "--delta", "2"], "--delta must lie"),
        (["import", "Arme.csv", "--numbers", "pH"], "no column 'ph'"),
        (["import", "Arme.csv", "--reward-column", "Küvette"], "different columns"),
        (["import", "Arme.csv", "--reward-column", "Ticket"], "cannot be named 'Ticket'"),
        (["import", "Arme.csv", "--reward-column", "well", "--plate", "96"], "cannot be named 'well'"),
        (["import", "Arme.csv", "--reward-column", ""], "cannot be named ''"),
        (["import", "Arme.csv", "--budget", "1"], "--budget must be"),
        (["import", "Arme.csv", "--budget", "1e30"], "lower it"),
        ([], "COMMAND"),
    ],
)
def test_a_wrong_command_is_one_sentence_and_writes_nothing(folder, run, given, said):
    elsewhere = ["--folder", "new/one"] if len(given) > 1 else []
    for more in ([], elsewhere):
        assert said.lower() in run(*given, *more, code=2).lower()
        assert [path.name for path in folder.iterdir()] == ["Arme.csv"]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("Küvette;Signal\nProbe 1;3,0\n", "unknown arm 'Probe 1'"),
        (
            "Küvette;yield\nProbe 01;3,0\n",
            "got küvette,yield. Rename the columns, or name them with --reward-column of",
        ),
        ("Küvette;Signal\nProbe 01;\n", "no reward yet"),
    ],
)
def test_a_wrong_file_is_one_sentence_and_changes_nothing(folder, run, content, said):
    run(*IMPORT)
    run("ask")
    Path("day.csv").write_text(content, encoding="utf-8")
    before = {path.name: path.read_bytes() for path in folder.glob("[!.]*")}
    assert said in run("tell", "day.csv", code=2)
    assert {path.name: path.read_bytes() for path in folder.glob("[!.]*")} == before


def test_a_reward_may_have_the_unit_of_the_experiment(folder, run):
    run(*IMPORT)
    run("ask")
    Path("day.csv").write_text("Küvette;Signal\nProbe 01;300,5 mV\n", encoding="utf-8")
    assert "1 taken" in run("tell", "day.csv")
    Path("day.csv").write_text("Küvette;Signal\nProbe 01;300,5 kV\n", encoding="utf-8")
    assert "write it in mV" in run("tell", "day.csv", code=2)


def test_one_arm_is_refused(folder, run):
    Path("one.csv").write_text("vial,dose\nA-01,1.5\n")
    assert run("import", "one.csv", code=2).startswith("one.csv has only one arm: give at least two")
    assert not Path("experiment.json").exists()


def test_compiling_is_announced_before_it_begins(folder, capsys, monkeypatch):
    with monkeypatch.context() as patched:
        patched.setenv("NUMBA_CACHE_DIR", str(folder))
        main(IMPORT)
    assert capsys.readouterr().err.startswith("Compiling the numerical kernels, once: ")
    main(IMPORT)
    assert not capsys.readouterr().err


def test_a_long_design_is_announced_before_it_begins_and_computed_once(folder, run, capsys, monkeypatch):
    def interrupted(arms, directions):
        raise KeyboardInterrupt

    monkeypatch.setattr(command_line, "LONG", 0.0)
    with monkeypatch.context() as patched:
        patched.setattr(command_line, "xy_design", interrupted)
        assert main(IMPORT) == 130 and [path.name for path in folder.iterdir()] == ["Arme.csv"]
        said = capsys.readouterr().err
        assert (
            said.startswith("Computing a design of 40 arms with 5 unknown numbers: seconds if ") and "1 second" in said
        )
    run(*IMPORT)
    (kept,) = folder.glob("design_*.npz")
    with monkeypatch.context() as patched:
        patched.setattr(command_line, "xy_design", wraps(command_line.xy_design)(interrupted))
        first = run("ask")
        kept.chmod(0o444)
        assert run("ask").endswith(first.partition("wanted")[2])
        kept.write_bytes(kept.read_bytes()[:200])
        run("ask", code=130)
    kept.unlink()
    kept.mkdir()  # a file that cannot be written
    assert run("ask").endswith(first.partition("wanted")[2])


def test_a_kept_design_is_used_for_its_own_arms_and_rule_alone(folder, run, monkeypatch):
    other = (folder / "Arme.csv").read_text(encoding="cp1252").replace("60,0000", "90,0000")
    (folder / "other.csv").write_text(other, encoding="utf-8")
    for given in (IMPORT, ["import", "other.csv", *IMPORT[2:]], [*IMPORT, "--rule", "xy_static"]):
        asked = []
        for name, long in (("fresh", np.inf), ("kept", 0.0)):
            monkeypatch.setattr(command_line, "LONG", long)
            run(*given, "--folder", name)
            asked.append(command_line.Experiment(Path(name)).lab().ask().tolist())
        assert asked[0] == asked[1], given


def test_settings_that_are_no_json_are_named(folder, run):
    Path("experiment.json").write_text("{")
    assert "experiment.json cannot be read" in run("ask", code=2)


def test_a_filled_form_and_an_experiment_with_measurements_are_never_replaced(folder, run):
    run(*IMPORT, "--sigma", "4")
    run("ask")
    before = measured("to_measure.csv", np.random.default_rng(0), rows=5).read_bytes()
    assert "stays as it is" in run("ask", code=2)
    assert Path("to_measure.csv").read_bytes() == before
    run("tell", "to_measure.csv")
    assert Path("measured_0001.csv").read_bytes() == before
    settings = Path("experiment.json").read_bytes()
    assert "has measurements" in run(*IMPORT, code=2)
    assert Path("experiment.json").read_bytes() == settings
    run(*IMPORT, "--folder", "next")


# --- kills and disks


def tell_part(folder, n):
    """Tell part n of the first form of an experiment, which part 0 begins."""
    with redirect_stdout(io.StringIO()):
        if not folder.exists():
            folder.mkdir()
            spreadsheet(folder / "Arme.csv")
            for given in (["import", str(folder / "Arme.csv"), *IMPORT[2:], "--sigma", "4"], ["ask"]):
                assert main([*given, "--folder", str(folder)]) == 0
            form = measured(folder / "to_measure.csv", np.random.default_rng(0))
            rows = form.read_text(encoding="cp1252").split("\n")
            form.unlink()
            for part in range(3):
                content = "\n".join([rows[0], *rows[10 * part + 1 : 10 * part + 11]])
                (folder / f"part{part}.csv").write_text(content, encoding="cp1252")
        assert main(["tell", f"part{n}.csv", "--folder", str(folder)]) == 0


def told_parts(folder):
    """Return how many parts are in the log, each ticket once; telling the last of them again adds nothing."""
    tickets = [row[0] for record in logs.standing(logs.read(folder / "log.jsonl")[0]) for row in record["rows"]]
    assert len(tickets) == len({*tickets}) and len(tickets) % 10 == 0
    for record in logs.standing(logs.read(folder / "log.jsonl")[0]):
        assert (folder / record["file"]).exists()
    tell_part(folder, len(tickets) // 10 - 1)
    assert told(folder) == len(tickets)
    return len(tickets) // 10


KILLS = """
import os, random, shutil, signal, sys, time
from pathlib import Path
import test_command_line as t

t.tell_part(Path("before"), 0)
shutil.copytree("before", "timed")
start, rng = time.monotonic(), random.Random(0)
t.tell_part(Path("timed"), 1)
whole = time.monotonic() - start
for kill in range(int(sys.argv[1])):
    folder = Path(str(kill))
    shutil.copytree("before", folder)
    reading, writing = os.pipe()
    if not (child := os.fork()):
        t.tell_part(folder, 1)
        os.write(writing, b".")
        os._exit(0)
    os.close(writing)
    time.sleep(rng.uniform(0, 2.5 * whole))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    acknowledged = len(os.read(reading, 1))
    found = t.told_parts(folder)
    assert 1 + acknowledged <= found <= 2
    t.tell_part(folder, 1)
    assert t.told_parts(folder) == 2
    print(acknowledged, found)
"""


@pytest.mark.slow
def test_kills_at_random_moments_of_tell(tmp_path):
    found = script(KILLS, 200, cwd=tmp_path).split("\n")[:-1]
    assert len(found) == 200 and {*found} == {"0 1", "0 2", "1 2"}


def test_on_a_full_disk_every_command_is_one_sentence_and_counts_nothing_twice(folder, capsys, full_disk):
    tell_part(folder / "before", 0)
    for n in range(1, 30):
        desk = folder / str(n)
        shutil.copytree(folder / "before", desk)
        left = full_disk(n)
        code = main(["tell", "part1.csv", "--folder", str(desk)])
        left[0] = 0
        refused = capsys.readouterr().err
        if code == 0:
            break
        assert refused.count("\n") == 1 and "no space left on device" in refused and code == 2
        assert told_parts(desk) in (1, 2)
        tell_part(desk, 1)
        assert told_parts(desk) == 2
    assert n > 6


READ_ONLY = """
import os, sys, tempfile
from pathlib import Path
import test_command_line as t

with tempfile.TemporaryDirectory() as folder:
    os.chmod(folder, 0o755)
    desk = Path(folder, "desk")
    t.tell_part(desk, 0)
    assert t.main(["standings", "--folder", str(desk)]) == 0
    before = (desk / "log.jsonl").read_bytes()
    for path in desk.iterdir():
        path.chmod(0o444)
    desk.chmod(0o555)
    sys.stdout.flush()
    if not os.fork():
        if os.geteuid() == 0:
            os.setuid(65534)
        codes = [t.main([*given, "--folder", str(desk)]) for given in (["tell", "part1.csv"], ["standings"], ["undo"])]
        sys.stdout.flush()
        os._exit(0 if codes == [2, 0, 2] else 1)
    assert os.wait()[1] == 0 and (desk / "log.jsonl").read_bytes() == before
    desk.chmod(0o755)
    for path in desk.glob("*"):
        path.chmod(0o644)
    t.tell_part(desk, 1)
    assert t.told_parts(desk) == 2
"""


@pytest.mark.slow
def test_a_folder_that_may_not_be_written_can_be_read(tmp_path):
    assert script(READ_ONLY, cwd=tmp_path).count("After 10 measurements") == 2


def test_on_a_full_disk_another_import_keeps_the_tickets_of_the_form(folder, run, full_disk):
    run(*IMPORT)
    run("ask")
    measured("to_measure.csv", np.random.default_rng(0), rows=5)
    left = full_disk(1)
    place = ["--folder", str(folder)]  # `full_disk` has left the folder
    code = main(["import", str(folder / "Arme.csv"), *IMPORT[2:], "--sigma", "4", *place])
    left[0] = 0
    assert code == 2 and main(["tell", "to_measure.csv", *place]) == 0 and told(folder) == 5


def test_a_form_without_its_tickets_is_told_once_and_replaced(folder, run):
    run(*IMPORT)
    run("ask")
    rows = measured("to_measure.csv", np.random.default_rng(0), rows=9).read_text(encoding="cp1252").splitlines()
    Path("to_measure.csv").write_text("\n".join(row.partition(";")[2] for row in rows), encoding="cp1252")
    assert "9 rows without a ticket" in run("tell", "to_measure.csv")
    assert Path("to_measure.csv").read_text(encoding="utf-8-sig").startswith("ticket;") and told(folder) == 9
    assert "9 rows were told before" in run("tell", "measured_0001.csv") and told(folder) == 9


def test_undo_takes_back_the_last_file_and_names_it(folder, run):
    run(*IMPORT, "--sigma", "4")
    assert "nothing to undo" in run("undo", code=2)
    run("ask")
    forms = []
    for seed in (0, 1):
        forms.append(Path("to_measure.csv").read_bytes())
        run("tell", str(measured("to_measure.csv", np.random.default_rng(seed), rows=9)))
    for n in (1, 0):
        assert f"9 measurements of measured_000{n + 1}.csv" in run("undo", "of another day")
        assert Path("to_measure.csv").read_bytes() == forms[n] and "of another day" in Path("log.jsonl").read_text()
    log = Path("log.jsonl").read_bytes()
    run(*IMPORT, "--sigma", "5")
    assert Path("log_1.jsonl").read_bytes() == log


@pytest.mark.slow
def test_two_people_with_the_same_folder_wait_for_each_other(folder, run, monkeypatch):
    run(*IMPORT, "--sigma", "4")
    run("ask")
    form, rng = Path("to_measure.csv").read_text(encoding="utf-8-sig"), np.random.default_rng(0)
    head, *rows = form.splitlines()
    for who, part in (("one.csv", rows[:10]), ("other.csv", rows[10:20])):
        Path(who).write_text("\n".join([head, *part]), encoding="utf-8-sig")
        measured(who, rng)
    codes = []

    def tell(who):
        command = [sys.executable, "-m", "bandits_lab", "tell", who]
        done = subprocess.run(command, capture_output=True, check=False, text=True)
        codes.append((done.returncode, done.stderr))

    threads = [threading.Thread(target=tell, args=(who,)) for who in ("one.csv", "other.csv", "one.csv")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert codes == [(0, "")] * 3 and told(folder) == 20
    monkeypatch.setattr(command_line, "locked", lambda path, *_: locked(path, patience=0.1))
    with locked(Path("experiment.json")):
        assert "being written by another program" in run("undo", code=2)
    assert told(folder) == 20


def test_the_report_is_html_that_shows_names_as_they_are(run):
    names = ["<b>bold", "a & b", "$x^2", "plain"]
    Path("arms.csv").write_text("\n".join(["name,salt,acid", *(f"{n},{k % 2},{k // 2}" for k, n in enumerate(names))]))
    run("import", "arms.csv", "--sigma", "0.1", "--unit", "<i>")
    run("report")
    assert "Nothing was measured yet" in Path("report.html").read_text(encoding="utf-8")
    run("ask")
    rows = list(csv.DictReader(Path("to_measure.csv").read_text(encoding="utf-8-sig").splitlines()))
    rewards = [f'"{row["name"]}",{names.index(row["name"]) + 0.1 * (i % 2)}' for i, row in enumerate(rows[:-1])]
    Path("day.csv").write_text("\n".join(["name,reward", *rewards]))
    run("tell", "day.csv")
    run("report")
    page = Path("report.html").read_text(encoding="utf-8")
    assert all(escape(name) in page for name in [*names, "<i>"]) and "<b>" not in page and "<i>" not in page


def test_a_slip_of_a_factor_of_ten_is_asked_about_before_it_counts(folder, run):
    rng = np.random.default_rng(5)
    run(*IMPORT)
    run("ask")
    rows = measured("to_measure.csv", rng).read_text(encoding="cp1252").split("\n")
    arm, _, reward = rows[4].rpartition(";")
    slip = [*rows[:4], f"{arm};{reward.replace(',', '')}", *rows[5:]]
    Path("slip.csv").write_text("\n".join(slip), encoding="cp1252")
    name = rows[4].split(";")[1]
    refused = run("tell", "slip.csv", code=2)
    assert (
        f"of {name} (line 5): far from the others" in refused and "Nothing was taken" in refused and "--sure" in refused
    )
    assert told(folder) == 0
    Path("to_measure.csv").unlink()
    assert "measurements in all" in run("tell", "slip.csv", "--sure")
    run("undo")
    Path("pilot.csv").write_text("\n".join(slip), encoding="cp1252")
    assert "Is it a typing error, or another unit?" in run("pilot", "pilot.csv", code=2)


@pytest.mark.parametrize(
    ("text", "own", "same"),
    [
        ("24,8889", "24,8890", False),
        ("24.889", "24,8890", True),
        ("24,9", "24,8890", True),
        ("25", "24,8890", False),
        ("20.5", "24,8890", False),
        ("", "24,8890", True),
        ("Water", "water", True),
        ("toluol", "water", False),
    ],
)
def test_a_row_of_another_arm_is_refused_and_another_spelling_is_taken(folder, run, text, own, same):
    """The columns of a form that describe an arm are those of the arm that was asked for."""
    run(*IMPORT)
    run("ask")
    path = measured("to_measure.csv", np.random.default_rng(0))
    head, *rows = path.read_text(encoding="cp1252").split("\n")
    line = next(i for i, row in enumerate(rows) if f";{own};" in row)
    name = rows[line].split(";")[1]
    rows[line] = rows[line].replace(f";{own};", f";{text};")
    path.write_text("\n".join([head, *rows]), encoding="cp1252")
    said = run("tell", "to_measure.csv", code=0 if same else 2)
    if same:
        assert told(folder) == len(rows)
    else:
        column = "Lösung" if own == "water" else "Temperatur"
        assert f"Line {line + 2} of to_measure.csv: {column} of {name} is '{text}', and '{own}' in the table" in said
        assert f"another {column} is another arm" in said and not Path("log.jsonl").read_text().count('"told"')


def test_a_contradicted_sigma_is_said_once_and_again_in_the_report(folder, run):
    run(*IMPORT, "--sigma", "0,4")
    run("ask")
    rng, words = np.random.default_rng(0), "times the sigma = 0.4"
    head, *rows = measured("to_measure.csv", rng).read_text(encoding="cp1252").split("\n")
    Path("to_measure.csv").unlink()
    for part, times in ((rows[:90], 1), (rows[90:-1], 0)):
        Path("part.csv").write_text("\n".join([head, *part]), encoding="cp1252")
        said = run("tell", "part.csv")
        assert said.count(words) == times and "`" not in said
    assert words not in run("ask") and run("standings").count(words) == 1  # why nothing is proved
    run("report")
    assert "with a larger sigma; the command pilot computes" in Path("report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("rewards", "said"),
    [("1 2", "measure an arm again (the command pilot says how"), ("1 2 1 2", "begin with --sigma STEP, the step of")],
)
def test_a_pilot_that_bounds_nothing_is_refused_in_words_of_the_command_line(run, rewards, said):
    Path("arms.csv").write_text("vial,dose\na,0.5\nb,1.5\n")
    run("import", "arms.csv")
    rows = [f"{'ab'[i % 2]},{reward}" for i, reward in enumerate(rewards.split())]
    Path("pilot.csv").write_text("\n".join(["vial,reward", *rows]))
    assert said in run("pilot", "pilot.csv", code=2)


def test_rewards_that_cannot_show_sigma_are_refused_in_words_of_the_command_line(folder, run):
    run(*IMPORT)
    run("ask")
    measured("to_measure.csv", np.random.default_rng(0), {name: np.nan for name in NAMES})
    form = Path("to_measure.csv").read_text(encoding="cp1252").replace("nan0", "5")
    Path("equal.csv").write_text(form, encoding="cp1252")
    Path("to_measure.csv").unlink()
    assert "cannot be learned from them. Import again with --sigma S, the standard" in run("tell", "equal.csv", code=2)


def test_a_form_that_was_told_from_a_copy_is_put_away(folder, run):
    run(*IMPORT)
    run("ask")
    copy = folder / "copy.csv"
    copy.write_bytes(measured("to_measure.csv", np.random.default_rng(6), missing=[2]).read_bytes())
    run("tell", "copy.csv")
    assert wanted(folder) == 1 and Path("measured_0001.csv").read_bytes() == copy.read_bytes()
    assert "of measured_0001.csv. Correct" in run("undo", "a slip")


@pytest.mark.parametrize("digits", [2, 12])
def test_shares_that_add_up_to_one_are_reported_until_one_is_left_out(folder, run, digits):
    shares = pd.DataFrame(np.random.default_rng(9).dirichlet(np.ones(4), 20).round(digits), columns=list("abcd"))
    shares.assign(heat=np.arange(20.0) + 0.5).to_csv("mixtures.csv", index_label="mixture")
    said = run("import", "mixtures.csv", "--folder", "mixed")
    assert "a, b, c, d almost determine one another" in said and "--ignore d:" in said
    said = run("import", "mixtures.csv", "--folder", "three", "--ignore", "d")
    assert "5 unknown numbers" in said and "determine" not in said


def test_another_column_of_results_is_possible_after_measuring(folder, run):
    """The tickets in a form stay those of the experiment as long as its rule is the same."""
    run(*IMPORT)
    run("ask")
    path = measured("to_measure.csv", np.random.default_rng(0), rows=5)
    path.write_text(path.read_text(encoding="cp1252").replace("Signal", "mV"), encoding="cp1252")
    assert "--reward-column" in run("tell", "to_measure.csv", code=2)
    run(*IMPORT[:-1], "mV")
    assert "5 taken" in run("tell", "to_measure.csv")


def run_it(*given, **environment):
    command = [sys.executable, "-m", "bandits_lab", *given]
    told = {"env": os.environ | environment, "capture_output": True, "check": False}
    return subprocess.run(command, **told)


@pytest.mark.slow
def test_a_terminal_without_a_letter_is_no_reason_to_stop(folder):
    Path("Arme.csv").write_text(Path("Arme.csv").read_text(encoding="cp1252").replace("Probe", "水"), encoding="utf-8")
    for given in (IMPORT, ["ask"]):
        done = run_it(*given, PYTHONIOENCODING="ascii")
        assert (done.returncode, done.stderr) == (0, b""), done.stderr
    assert b"\\u6c34 01" in done.stdout and "水 01" in Path("to_measure.csv").read_text(encoding="utf-8-sig")


@pytest.mark.slow
def test_a_file_name_that_is_not_utf_8(folder):
    name = os.fsdecode(b"pr\374fung.csv")
    os.rename("Arme.csv", name)
    for given in (["import", name, "--unit", os.fsdecode(b"\xb5V"), "--reward-column", "Signal"], ["ask"]):
        assert run_it(*given).returncode == 0
    assert Path("to_measure.csv").exists()


def test_an_interruption_is_one_sentence(folder, run, monkeypatch):
    run(*IMPORT)

    def interrupted(*given, **how):
        raise KeyboardInterrupt

    monkeypatch.setattr(command_line, "plan", interrupted)
    said = run("plan", "--gap", "5", "--sigma", "4", code=130)
    assert said == "Stopped. What was saved before is still there.\n"
