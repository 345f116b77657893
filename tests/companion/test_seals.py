"""Seeds that nobody chooses, the list of sealed runs, and what another seed or edition says of a claim."""

import hashlib
import json
import subprocess
from functools import partial
from pathlib import Path
from statistics import NormalDist

import nbformat
import pandas as pd
import pytest
import yaml
from made_up import claim, leave

from bandits_companion import ledger, seals
from bandits_companion.claims import table
from bandits_companion.claims_table import COLUMNS
from bandits_companion.registry import PAPERS
from bandits_companion.verdicts import Rule
from bandits_lib.figures import results
from bandits_lib.simulate.intervals import Interval

ROOT = Path(__file__).resolve().parents[2]
WORDS = {"place": "Figure 1a", "quote": "is below", "measures": "pulls", "why": {"F": "so"}}
ENTRY = WORDS | {"holds": [0, 1], "edge": "words", "margin": "ratio", "loser": "A", "winner": "B"}
CELL = 'runs = 3\nseed = 0\nn_jobs = 2\nscheduler = ""\nout = "../build"\ndelta = 0.05'


@pytest.fixture
def folder(tmp_path):
    """A folder of notebooks with one of fiez2019 and one of jedra2020."""
    cell = nbformat.v4.new_code_cell(CELL, metadata={"tags": ["parameters"]})
    plan = {}
    for name in ("fiez2019_x", "jedra2020_x"):
        nbformat.write(nbformat.v4.new_notebook(cells=[cell]), tmp_path / f"{name}.ipynb")
        plan[name] = {"minutes": 1, "figures": [], "parameters": {"runs": 200, "checkpoint": "a"}}
    write(tmp_path, plan=plan, claims={f"{name}/a": dict(ENTRY) for name in plan})
    return tmp_path


def write(folder, plan=None, claims=None):
    for name, content in (("paper", plan), ("claims", claims)):
        if content is not None:
            (folder / f"{name}.yaml").write_text(yaml.safe_dump(content))


def change(folder, plan=None, paper="fiez2019", **fields):
    """Change parameters of the plan and fields of the entry of a paper; None takes a field away."""
    for name, key, changes in (("paper", f"{paper}_x", plan), ("claims", f"{paper}_x/a", fields)):
        content = yaml.safe_load((folder / f"{name}.yaml").read_text())
        inner = content[key]["parameters"] if name == "paper" else content[key]
        inner.update(changes or {})
        for field in [field for field, value in inner.items() if value is None]:
            del inner[field]
        write(folder, **{"plan" if name == "paper" else "claims": content})


def seed(folder, paper="fiez2019", **more):
    return seals.seed(paper, folder, folder / "seeds.csv", **more)


# --- the seed


def test_the_seed_is_the_first_31_bits_of_a_sha_256(folder):
    digest = seals.fields_hash("fiez2019", folder, folder / "seeds.csv")
    text = json.dumps([seals.deciding("fiez2019", folder), []], sort_keys=True, ensure_ascii=False)
    assert digest == hashlib.sha256(text.encode()).hexdigest()
    assert f"{seed(folder):031b}" == f"{int(digest, 16):0256b}"[:31]
    assert seed(folder, "jedra2020") != seed(folder)


@pytest.mark.parametrize(
    "changed",
    [
        {"plan": {"runs": 201}},
        {"plan": {"delta": 0.1}},
        {"holds": [1, float("inf")]},
        {"margin": None},
        {"margin": {"ratio": 1.05}},
        {"kind": "program"},
        {"loser": "C"},
        {"winner": "C"},
        {"slack": "2.01"},
        {"sampled": 9},
        {"readings": {"text": {}, "program": {}}},
        {"parts": {"p": {}, "q": {}}},
        {"holds": None, "margin": None, "edge": "grade", "closeness": "ratio"},
    ],
    ids=str,
)
def test_what_decides_changes_the_seed_of_its_paper_alone(folder, changed):
    before = seed(folder), seed(folder, "jedra2020")
    change(folder, **changed)
    assert seed(folder) != before[0] and seed(folder, "jedra2020") == before[1]


@pytest.mark.parametrize(
    "changed",
    [
        {"plan": {"checkpoint": "b"}},
        {"plan": {"delta": 0.05}},
        {"plan": {"own": "my_rule.py:mine"}},
        {"quote": "is less"},
        {"whole": "It is below."},
        {"place": "Figure 2"},
        {"why": None},
        {"why": {"F": "not so"}},
        {"measures": "pulls, said otherwise"},
    ],
    ids=str,
)
def test_prose_and_where_it_is_computed_change_no_seed(folder, changed):
    before = seed(folder)
    change(folder, **changed)
    assert seed(folder) == before


def test_defaults_of_the_parameters_cell_are_settings_and_its_seed_is_none(folder):
    before, path = seed(folder), folder / "fiez2019_x.ipynb"
    text = path.read_text()
    for old, new, same in (
        ("delta = 0.05", "delta = 0.1", False),
        ("seed = 0", "seed = 5", True),
        ("n_jobs = 2", "n_jobs = 4", True),
        ("runs = 3", "runs = 4", True),
    ):
        path.write_text(text.replace(old, new))
        assert (seed(folder) == before) == same, new


def test_a_rule_of_the_readers_decides_nothing_and_stands_where_it_was_hashed_first():
    """Figure 1a had `own` before the sealed runs; it is hashed as if it alone had it."""
    for paper in PAPERS:
        settings = seals.deciding(paper, ROOT / "notebooks")["settings"]
        with_own = {name: values["own"] for name, values in settings.items() if "own" in values}
        assert with_own == ({"fiez2019_5a_benchmark": ""} if paper == "fiez2019" else {})


def test_a_finding_and_what_is_untestable_decide_nothing(folder):
    before = seed(folder)
    claims = yaml.safe_load((folder / "claims.yaml").read_text())
    claims |= {"fiez2019_x/b": {"place": "Figure 1", "measures": "pulls"}}
    write(folder, claims=claims | {"fiez2019_x/c": {"place": "Figure 1", "quote": "so", "untestable": "a wish"}})
    assert seed(folder) == before
    write(folder, claims=claims | {"fiez2019_x/c": ENTRY})
    assert seed(folder) != before


def test_a_reason_draws_the_seed_anew_once_and_is_kept_in_the_list(folder):
    log, first = folder / "seeds.csv", seed(folder)
    drawn = seed(folder, redrawn="a kernel changed")
    assert drawn != first == seed(folder)
    seals.begin(["fiez2019"], {"fiez2019": drawn}, log, "a kernel changed")
    assert seed(folder) == drawn == seed(folder, redrawn="a kernel changed")
    assert seed(folder, redrawn="another one") not in (first, drawn)
    assert seed(folder, "jedra2020") == seals.seed("jedra2020", folder, folder / "none.csv")


# --- the list of sealed runs


def test_what_a_sealed_run_leaves_names_the_hash_from_which_its_seed_is_computed(folder):
    figures = leave(folder, [claim("fiez2019_x/a", 0.5)])
    seals.stamp("fiez2019", folder, figures, ["fiez2019_y"])  # another notebook's run
    assert "fields" not in json.loads((figures / "fiez2019" / "fiez2019_x.json").read_text())["code"]
    seals.stamp("fiez2019", folder, figures, ["fiez2019_x"])
    code = json.loads((figures / "fiez2019" / "fiez2019_x.json").read_text())["code"]
    assert int(code.pop("fields")[:8], 16) >> 1 == seed(folder) and code == {
        "library": "library",
        "notebook": "notebook",
        "same_claims": [],
    }


def test_the_list_of_runs_only_grows(folder):
    log = folder / "figures" / "seeds.csv"
    seals.begin(["fiez2019", "jedra2020"], {"fiez2019": 7, "jedra2020": 8}, log)
    before = log.read_bytes()
    seals.begin(["fiez2019"], {"fiez2019": 9}, log, "why, and\nhow")
    found = [claim("fiez2019_x/a", 0.5), claim("fiez2019_x/b", 2.0), claim("jedra2020_x/a", 2.0)]
    seals.end(["fiez2019"], {"fiez2019": 9}, log, table(found))
    assert log.read_bytes().startswith(before)
    rows = seals.read_log(log)
    assert tuple(rows.columns) == seals.LOG
    assert rows["paper"].tolist() == ["fiez2019", "jedra2020", "fiez2019", "fiez2019"]
    assert rows["state"].tolist() == ["begun", "begun", "begun", "ended"]
    assert rows["seed"].tolist() == ["7", "8", "9", "9"] and rows["redrawn"].tolist() == ["", "", "why, and\nhow", ""]
    assert rows["outcomes"].tolist() == ["", "", "", "holds by the text 1; falls by the text 1"]
    assert set(rows["library"]) == {results.library_hash()} and set(rows["commit"]) == {
        results.git("rev-parse", "HEAD")
    }
    assert seals.runs_of("fiez2019", log) == "2 begun, 1 ended, 1 stopped before the end"
    assert seals.runs_of("weltz2023", log) == "0 begun, 0 ended"
    for paper in ("jedra2020", "fiez2019", "jedra2020"):  # that of fiez2019 had ended
        seals.begin([paper], {"fiez2019": 9, "jedra2020": 8 + (paper == "fiez2019")}, log)
    assert (
        seals.runs_of("jedra2020", log)
        == "1 begun (not counting 2 continuations after a stop), 0 ended, 1 stopped before the end"
    )
    assert seals.runs_of("fiez2019", log) == "3 begun, 1 ended, 2 stopped before the end"


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """git(...) in a repository of its own, which `seals` takes for the checkout."""
    git = partial(results.git, folder=tmp_path)
    monkeypatch.setattr(seals, "git", git)
    git("init", "-q")
    for name in ("user.name", "user.email"):
        git("config", name, "a@b")
    return git


def commit(git, folder, **files):
    for name, text in files.items():
        path = folder / name.replace("__", "/").replace("_dot_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    git("add", ".")
    git("commit", "-qm", "x")
    return git("rev-parse", "HEAD")


def test_a_sealed_run_needs_committed_code(repository, tmp_path):
    commit(repository, tmp_path, code_dot_py="1", README_dot_md="1", figures__a_dot_csv="1", notebooks__a_dot_py="1")
    seals.check_committed()
    for name in ("README.md", "figures/a.csv"):
        (tmp_path / name).write_text("2")
    seals.check_committed()
    for name in ("code.py", "notebooks/a.py"):
        (tmp_path / name).write_text("2")
        with pytest.raises(ValueError, match=f"committed code only, and {name} changed: commit, or give --seed"):
            seals.check_committed()
        repository("add", name)
        with pytest.raises(ValueError, match=f"{name} changed"):
            seals.check_committed()
        repository("commit", "-qm", "y", name)
    seals.check_committed()


def test_a_sealed_run_needs_a_checkout(tmp_path, monkeypatch):
    monkeypatch.setattr(seals, "git", partial(results.git, folder=tmp_path))
    with pytest.raises(ValueError, match="from a git checkout only, and this folder is not one"):
        seals.check_committed()


# --- another seed on the same code

THEN = {"a": 0.5, "b": 0.5, "c@text": 2.0}


def made(estimates):
    return [claim(f"fiez2019_9/{name}", (x, x - 0.196, x + 0.196)) for name, x in estimates.items()]


@pytest.fixture
def figures(tmp_path):
    figures = leave(tmp_path, made(THEN), seed=0)
    assert seals.keep_explored(figures, tmp_path, sealed=[7]) == ["fiez2019_9"]
    return figures


def explored(figures):
    return seals.explored(figures / "explored", figures)


def test_what_is_kept_has_seed_and_code_and_every_digit(figures):
    kept = pd.read_csv(figures / "explored" / "fiez2019_9.csv", dtype=str)
    told = ["seed", "library", "notebook"]
    assert kept[told].drop_duplicates().to_numpy().tolist() == [["0", "library", "notebook"]]
    pd.testing.assert_frame_equal(kept.drop(columns=told), pd.read_csv(figures / "claims/fiez2019_9.csv", dtype=str))


@pytest.mark.parametrize(
    ("seed", "code", "compared"),
    [
        (7, ("library", "notebook"), True),
        (0, ("library", "notebook"), False),
        (7, ("library, later", "notebook"), False),
        (7, ("library", "notebook, later"), False),
        (7, ("", ""), False),
    ],
)
def test_another_seed_is_compared_on_equal_code_alone(figures, tmp_path, seed, code, compared):
    leave(tmp_path, made(THEN), seed, code)
    assert explored(figures)["id"].tolist() == [f"fiez2019_9/{name}" for name in THEN if compared]


@pytest.mark.parametrize(
    ("estimates", "compared"), [(THEN, True), (THEN | {"new": 1.0}, True), (THEN | {"b": 0.51}, False)]
)
def test_another_seed_is_compared_after_the_code_changed_if_a_sealed_run_had_the_same_claims(
    figures, folder, tmp_path, repository, estimates, compared
):
    leave(tmp_path, made(THEN), 7)
    commit(repository, tmp_path)
    for later in ("later", "later", "still later"):  # also if the later code is run twice, and if it changes again
        leave(tmp_path, made(estimates), 7, (f"library, {later}", "notebook"))
        seals.stamp("fiez2019", folder, figures, ["fiez2019_9"])
        assert explored(figures)["id"].tolist() == [f"fiez2019_9/{name}" for name in THEN if compared]
        (*_, same), *_ = seals.about(figures).values()
        assert (f"library, {later}", "notebook") not in same
        commit(repository, tmp_path)
    leave(tmp_path, made(estimates | {"a": 0.6}), 8, ("library, still later", "notebook"))  # the same code, a new seed
    seals.stamp("fiez2019", folder, figures, ["fiez2019_9"])
    assert len(explored(figures)) == compared * len(THEN)


def test_a_claim_in_seconds_which_differs_in_every_run_does_not_end_the_comparison(
    figures, folder, tmp_path, repository
):
    for library, seconds in (("library", 3.0), ("library, later", 3.5)):
        timed = claim("fiez2019_9/time", seconds, measures="seconds of A divided by those of B")
        leave(tmp_path, [*made(THEN), timed], 7, (library, "notebook"))
        seals.stamp("fiez2019", folder, figures, ["fiez2019_9"])
        commit(repository, tmp_path)
    assert explored(figures)["id"].tolist() == [f"fiez2019_9/{name}" for name in THEN]


def test_claims_kept_without_their_code_are_not_compared(figures, tmp_path):
    leave(tmp_path, made(THEN), 7, ("", ""))
    file = figures / "explored" / "fiez2019_9.csv"
    pd.read_csv(file, dtype=str).assign(library="", notebook="").to_csv(file, index=False)
    assert explored(figures).empty
    pd.read_csv(file, dtype=str).drop(columns=["library", "notebook"]).to_csv(file, index=False)
    assert explored(figures).empty and explored(figures).columns.tolist() == COLUMNS


@pytest.mark.parametrize(("beyond", "raised"), [(0.999, []), (1.001, ["fiez2019_9/b"])])
def test_an_alarm_is_raised_beyond_bonferronis_limit_and_not_below(figures, tmp_path, beyond, raised):
    """Standard errors of .1 on both sides, three claims."""
    limit = NormalDist().inv_cdf(1 - 0.025 / 3)
    leave(tmp_path, made(THEN | {"b": 0.5 - beyond * limit * 0.1 * 2**0.5}), 7)
    found = seals.alarms(ledger.read(figures / "claims"), explored(figures))
    assert found["claim"].tolist() == raised
    assert found["standard errors"].tolist() == pytest.approx([beyond * limit] * len(raised))
    if raised:
        assert found["when explored"].item() == "0.5 [0.304, 0.696]" and found["now"].item().startswith("0.161 [")


def test_an_alarm_rests_on_the_standard_error_and_not_on_what_an_unseen_run_might_add(figures, tmp_path):
    """The intervals overlap, as wide as they are for runs of two values; the estimates are 7 standard errors apart."""
    estimates = [Interval(estimate, 0.1, 0.9, error=0.02) for estimate in (0.5, 0.3)]
    before, now = (table([claim("fiez2019_9/a", estimate)]) for estimate in estimates)
    assert seals.alarms(now, before)["standard errors"].item() == pytest.approx(0.2 / (0.02 * 2**0.5))


def test_numbers_without_an_error_must_be_the_same(figures, tmp_path):
    leave(tmp_path, [claim("fiez2019_9/a", 0.5), claim("fiez2019_9/b", 0.25)], 7)
    old = table([claim("fiez2019_9/a", 0.5), claim("fiez2019_9/b", 0.5)])
    found = seals.alarms(ledger.read(figures / "claims"), old)
    assert found["claim"].tolist() == ["fiez2019_9/b"] and found["standard errors"].tolist() == [float("inf")]


def test_claims_in_seconds_raise_no_alarm(figures, tmp_path):
    for measures, alarms in (("seconds of A divided by those of B", 0), ("pulls of A divided by those of B", 1)):
        leave(tmp_path, [claim("fiez2019_9/a", (0.5, 0.49, 0.51), measures=measures)], 7)
        old = table([claim("fiez2019_9/a", (2.0, 1.9, 2.1), measures=measures)])
        assert len(seals.alarms(ledger.read(figures / "claims"), old)) == alarms


def test_files_of_two_seeds_or_of_two_codes_are_refused(figures):
    about = json.loads((figures / "fiez2019" / "fiez2019_9.json").read_text())
    assert seals.about(figures) == {"fiez2019_9": (0, "library", "notebook", set())}
    for other in ({"parameters": {"seed": 7}}, {"code": {"library": "later", "notebook": "notebook"}}):
        (figures / "fiez2019" / "table_9.json").write_text(json.dumps(about | other))
        with pytest.raises(ValueError, match="table_9.json is of another seed or code than other files of fiez2019_9"):
            seals.about(figures)


def test_a_sealed_run_claims_of_no_known_seed_and_none_at_all_are_not_kept(figures, tmp_path):
    kept = (figures / "explored" / "fiez2019_9.csv").read_text()
    leave(tmp_path, made(THEN | {"a": 0.6}), 7)
    with pytest.raises(ValueError, match="fiez2019_9 was run with a sealed seed"):
        seals.keep_explored(figures, tmp_path, sealed=[7])
    (figures / "fiez2019" / "fiez2019_9.json").unlink()
    with pytest.raises(ValueError, match="no json says with which seed fiez2019_9 was run"):
        seals.keep_explored(figures, tmp_path, sealed=[7])
    with pytest.raises(ValueError, match="has no claims to keep"):
        seals.keep_explored(tmp_path, tmp_path, sealed=[7])
    assert (figures / "explored" / "fiez2019_9.csv").read_text() == kept


# --- another edition


def rows_of(page):
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in page.splitlines() if line.startswith("| ")][1:]


def test_what_another_edition_said_is_listed(repository, tmp_path):
    old = table([*made(THEN), claim("fiez2019_9/gone", 0.5), claim("fiez2019_9/ours", 1.0, quote="", kind="other")])
    revision = commit(repository, tmp_path, figures__claims_dot_csv=old.to_csv(index=False))
    now = [
        *made(THEN | {"a": 2.0}),
        claim("fiez2019_9/new", 0.5),
        claim("fiez2019_9/ours", 9.0, quote="", kind="other"),
    ]
    now[1] = claim("fiez2019_9/b", 0.5, Rule(0, 0.4), quote="many fewer")
    page = seals.changes(table(now), revision)
    assert page.startswith(f"# Claims that differ from {revision}\n") and "outcome before" in page
    assert rows_of(page) == [
        ["fiez2019_9/a", "", "", "", "holds by the text", "falls by the text"],
        ["fiez2019_9/b", "quote", "fewer", "many fewer", "holds by the text", "falls by the text"],
        ["fiez2019_9/b", "holds for", "0 to 1", "0 to 0.4", "holds by the text", "falls by the text"],
        ["fiez2019_9/gone", "", "", "", "holds by the text", "no claim"],
        ["fiez2019_9/new", "", "", "", "no claim", "holds by the text"],
    ]
    assert rows_of(seals.changes(old, revision)) == []
    seals.save_changes(table(now), revision, tmp_path)
    assert (tmp_path / "figures" / "claims_changes.md").read_text() == page


def test_the_columns_of_the_second_edition_are_understood(repository, tmp_path):
    names = "id,paper,place,quote,whose,closeness,side,printed,printed_half,holds_low,holds_high,verdict"
    old = [
        "fiez2019_9/a,fiez2019,Figure 1a,fewer,paper,,,,,0,1,reproduced",
        "fiez2019_9/b@text,fiez2019,Figure 1a,fewer,paper,,,,,0,1,not reproduced",
        "fiez2019_9/b@code,fiez2019,Figure 1a,fewer,paper,,,,,0,1,undecided",
        "fiez2019_9/c,fiez2019,Figure 1a,fewer,paper,ratio,below,,,0,2,reproduced",
        "fiez2019_9/d,fiez2019,Figure 1a,100,paper,,,100,9.5,-inf,inf,compatible",
        "fiez2019_9/e,fiez2019,Figure 1a,,ours,,,,,-inf,inf,finding",
    ]
    revision = commit(repository, tmp_path, figures__claims_dot_csv="\n".join([names, *old]))
    now = [claim("fiez2019_9/a", 0.5), claim("fiez2019_9/b@text", 2.0)]
    now += [claim("fiez2019_9/c", 1.5, Rule(graded="ratio", side="below")), claim("fiez2019_9/e", 1.0, quote="")]
    now += [claim("fiez2019_9/d", 100, Rule(printed=100.0, half=9.5), quote="100")]
    assert rows_of(seals.changes(table(now), revision)) == [
        ["fiez2019_9/a", "", "", "", "reproduced", "holds by the text"],
        ["fiez2019_9/b", "", "", "", "undecided", "falls by the text"],
        ["fiez2019_9/c", "holds for", "0 to 2", "within 1.1", "reproduced", "weaker than said"],
    ]


def test_a_revision_without_claims_is_named(repository, tmp_path):
    with pytest.raises(ValueError, match="git has no figures/claims.csv at 'none'"):
        seals.changes(table([]), "none")


# --- what is committed


@pytest.mark.parametrize("paper", PAPERS)
def test_the_committed_verdicts_have_the_seed_that_their_fields_give(paper):
    log = ROOT / "figures" / "seeds.csv"
    runs = seals.read_log(log)
    ended = runs[(runs["paper"] == paper) & (runs["state"] == "ended")]
    used = {of[0] for name, of in seals.about(ROOT / "figures").items() if name.startswith(f"{paper}_")}
    if ended.empty:  # figures/ has an exploratory run, or that of the edition before; the report says that none ended
        assert len(used) == 1
    else:
        assert used == {int(ended["seed"].iloc[-1])} == {seals.seed(paper, ROOT / "notebooks", log)}


def test_no_committed_row_of_the_list_of_runs_was_ever_changed():
    """In a checkout with history; each version begins with the one before."""
    path = "figures/seeds.csv"
    asked = ["git", "-C", str(ROOT), "log", "--format=%H", "--reverse", "--", path]
    commits = subprocess.run(asked, capture_output=True, text=True).stdout.split()
    versions = [results.git("show", f"{one}:{path}") for one in commits]
    versions.append((ROOT / path).read_text(encoding="utf-8").rstrip("\n"))
    assert all(later.startswith(earlier) for earlier, later in zip(versions, versions[1:], strict=False))


def test_no_alarm_of_the_committed_claims_is_left_unexplained():
    claims = ledger.read(ROOT / "figures" / "claims")
    found = seals.alarms(claims, seals.explored(ROOT / "figures" / "explored", ROOT / "figures"))
    explained = claims.set_index("id")["explanation"]
    assert not [id for id in found["claim"] if not explained[id]]
