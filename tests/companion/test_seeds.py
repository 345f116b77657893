"""Seeds that nobody chooses, the list of runs of papers, and what another edition says of a claim."""

import hashlib
import json
import subprocess
from functools import partial
from pathlib import Path

import pytest
from made_up import claim

from bandits_companion import ledger, seeds
from bandits_companion.claims import table
from bandits_companion.claims_table import csv_of, read, sentences
from bandits_companion.registry import COPIES, PAPERS
from bandits_companion.verdicts import Criterion
from bandits_lib.figures import parameters, results

ROOT = Path(__file__).resolve().parents[2]
LOG = ROOT / "figures" / "seeds.csv"
SEEDS = {"fiez2019": 7}


@pytest.fixture
def log(tmp_path):
    return tmp_path / "figures" / "seeds.csv"


@pytest.mark.parametrize("paper", PAPERS)
def test_a_seed_follows_from_the_text_of_the_paper_and_the_edition(paper):
    digest = hashlib.sha256(f"{COPIES[paper]} 0.4".encode()).digest()
    assert seeds.computed_seed(paper, "0.4") == int.from_bytes(digest[:4], "big") >> 1 < 2**31
    assert len({seeds.computed_seed(paper, edition) for edition in ("0.4", "0.5", "1.0")}) == 3


def test_only_the_first_edition_has_its_seed_from_the_list(log, monkeypatch):
    for edition, seed in (("0.3", 7), ("0.4", seeds.computed_seed("fiez2019", "0.4"))):
        monkeypatch.setattr(seeds, "EDITION", edition)
        seeds.begin(SEEDS, SEEDS, log)
        assert seeds.seed("fiez2019", log, edition) == seed
    assert seeds.seed("fiez2019", log, "9.9") == seeds.computed_seed("fiez2019", "9.9"), "another edition"


def test_the_list_of_runs_only_grows_and_says_why_digits_change(log):
    seeds.begin(SEEDS, SEEDS, log)
    before = log.read_bytes()
    seeds.begin(SEEDS, SEEDS, log, why="a fault, mended")
    seeds.end(SEEDS, SEEDS, log, table([claim("fiez2019_9/a", 0.5)]))
    assert log.read_bytes().startswith(before)
    rows = seeds.read_log(log)
    assert list(rows) == list(seeds.LOG) and rows["why"].tolist() == ["", "a fault, mended", ""]
    assert rows["state"].tolist() == ["begun", "begun", "ended"] and rows["edition"].eq(seeds.EDITION).all()
    assert rows["outcomes"].tolist() == ["", "", "holds 1"]
    assert seeds.runs_of("fiez2019", log) == "1 begun (not counting 1 continuation after a stop), 1 ended"


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """git(...) in a repository of its own, which `seeds` takes for the checkout."""
    git = partial(results.git, folder=tmp_path)
    monkeypatch.setattr(seeds, "git", git)
    monkeypatch.setattr(seeds, "changed_files", partial(results.changed_files, tmp_path))
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


def test_a_run_of_papers_needs_committed_code(repository, tmp_path):
    commit(repository, tmp_path, code_dot_py="1", README_dot_md="1", figures__a_dot_csv="1", notebooks__a_dot_py="1")
    seeds.check_committed()
    for name in ("README.md", "figures/a.csv"):
        (tmp_path / name).write_text("2")
    seeds.check_committed()
    for name in ("code.py", "notebooks/a.py"):
        (tmp_path / name).write_text("2")
        with pytest.raises(ValueError, match=f"committed code only, and {name} changed: commit, or give --seed"):
            seeds.check_committed()
        repository("add", name)
        with pytest.raises(ValueError, match=f"{name} changed"):
            seeds.check_committed()
        repository("commit", "-qm", "y", name)
    seeds.check_committed()


def test_minutes_that_a_run_wrote_are_no_change_and_parameters_are(repository, tmp_path):
    text = "x:\n  minutes: 2\n  verify_minutes: 0.1\n  parameters: {runs: 3}\n"
    commit(repository, tmp_path, notebooks__paper_dot_yaml=text, docs__paper_scale_dot_md="2")
    plan = tmp_path / "notebooks" / "paper.yaml"
    plan.write_text(text.replace("minutes: 2", "minutes: 3"))
    (tmp_path / "docs" / "paper_scale.md").write_text("3")
    seeds.check_committed()
    plan.write_text(text.replace("runs: 3", "runs: 4"))
    with pytest.raises(ValueError, match="notebooks/paper.yaml changed"):
        seeds.check_committed()


def test_a_run_of_papers_needs_a_checkout(tmp_path, monkeypatch):
    monkeypatch.setattr(seeds, "changed_files", partial(results.changed_files, tmp_path))
    with pytest.raises(ValueError, match="from a git checkout only, and this folder is not one"):
        seeds.check_committed()


# --- another edition

THEN = {"rule": 0.5, "criterion": 0.5, "seed": 2.0, "same": 0.5}


def tables_of(page):
    """{heading without its number: rows of its table}."""
    found = {}
    for part in page.split("\n## ")[1:]:
        rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in part.splitlines() if line.startswith("| ")]
        found[part.partition(":")[0]] = rows[1:]
    return found


def test_changed_words_are_sorted_by_reason_and_a_seed_is_noted_in_the_cell(repository, tmp_path):
    then = [claim(f"fiez2019_9/{name}", x) for name, x in THEN.items()]
    pages = {f"figures__ledger__{paper}_dot_md": "" for paper in COPIES}
    page = ledger.page("fiez2019", table(then)).replace("**holds by the text**", "**level**", 1)
    pages["figures__ledger__fiez2019_dot_md"] = page
    edition = commit(repository, tmp_path, figures__claims_dot_csv=csv_of(table(then)), **pages)
    now = [claim(f"fiez2019_9/{name}", x) for name, x in (THEN | {"seed": 0.5}).items()]
    now[1] = claim("fiez2019_9/criterion", 0.5, Criterion(0, 0.4), quote="many fewer")
    now.append(claim("fiez2019_9/ours", 9.0, quote="", kind="other"))
    page, by_seed = seeds.changes(table(now), edition, edition)
    asked = ("fewer; A over B (true if between 0 and 1)", "many fewer; A over B (true if between 0 and 0.4)")
    assert tables_of(page) == {
        seeds.RULE: [["fiez2019_9/rule", "partly", "holds"]],
        seeds.CRITERION: [["fiez2019_9/criterion", "holds", "falls", *asked]],
        seeds.SEED: [["fiez2019_9/seed", "falls", "holds"]],
    }
    assert by_seed == {("fiez2019_9/seed", "text"): "falls"}
    folder = tmp_path / "figures"
    (folder / "claims").mkdir()
    (folder / "claims" / "fiez2019_9.csv").write_text(csv_of(table(now)))
    seeds.save_changes(edition, edition, folder)
    assert (folder / "claims_changes.md").read_text() == page
    notes = sentences(read(folder / "claims"))["text_note"]
    assert "at the seed of the edition before: falls" in notes["fiez2019_9/seed"]
    assert not notes.drop("fiez2019_9/seed").str.contains("seed").any()


def test_a_revision_without_claims_is_named(repository):
    with pytest.raises(ValueError, match="git has no figures/ledger/fiez2019.md at 'none'"):
        seeds.changes(table([]), "none", "none")


# --- what is committed


@pytest.mark.parametrize("paper", [*PAPERS, "companion"])
def test_the_published_seed_is_the_default_of_every_notebook(paper):
    """And of every published figure, so that a small run is a sample of the published one."""
    runs = seeds.read_log(LOG)
    ended = runs[(runs["paper"] == paper) & (runs["state"] == "ended")]
    seed = int(ended["seed"].iloc[-1]) if paper != "companion" else 0
    defaults = {parameters.read(file)["seed"].default for file in (ROOT / "notebooks").glob(f"{paper}_*.ipynb")}
    drawn = {json.loads(file.read_text())["parameters"]["seed"] for file in (ROOT / "figures" / paper).glob("*.json")}
    assert defaults == drawn == {seed}


def test_every_seed_since_edition_0_4_is_the_computed_one():
    rows = seeds.read_log(LOG)
    later = rows[rows["edition"] != "0.3"]
    computed = [seeds.computed_seed(*of) for of in zip(later["paper"], later["edition"], strict=True)]
    assert later["seed"].astype(int).tolist() == computed


def test_no_committed_row_of_the_list_of_runs_was_ever_changed():
    """In a checkout with history; each version since the columns of edition 0.4 begins with the one before."""
    path = "figures/seeds.csv"
    asked = ["git", "-C", str(ROOT), "log", "--format=%H", "--reverse", "--", path]
    commits = subprocess.run(asked, capture_output=True, text=True).stdout.split()
    versions = [results.git("show", f"{one}:{path}") for one in commits]
    versions.append(LOG.read_text(encoding="utf-8").rstrip("\n"))
    versions = [version for version in versions if version.startswith(",".join(seeds.LOG))]
    assert all(later.startswith(earlier) for earlier, later in zip(versions, versions[1:], strict=False))
