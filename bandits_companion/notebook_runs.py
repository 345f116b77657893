"""The end of a run of notebooks: a page of all figures, and the totals.

For `run.py own`: what a notebook asks of a reader's rule, and how the rule does in a figure.
"""

import ast
import functools
import json
import os
import platform
import re
import struct
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from importlib.resources import files
from pathlib import Path
from threading import Lock
from types import MappingProxyType
from typing import NamedTuple
from urllib.parse import quote

import nbformat
import numpy as np
import pandas as pd
from jinja2 import Environment

from bandits_companion.claims_table import read_file, totals
from bandits_companion.ledger import markdown
from bandits_lib.figures import parameters
from bandits_lib.figures.comparison import Comparison
from bandits_lib.figures.parameters import ELSEWHERE
from bandits_lib.files import atomic_write
from bandits_lib.simulate.intervals import wilson_interval
from bandits_lib.simulate.own_rule import NEEDS, OWN

PARTS = {
    "fiez2019": "Fiez et al. 2019: RAGE",
    "jedra2020": "Jedra and Proutiere 2020: Lazy Track-and-Stop",
    "azizi2022": "Azizi et al. 2022: GSE, fixed budget",
    "weltz2023": "Weltz et al. 2023: HEAD and H-RAGE",
    "companion": "Companion",
}
KINDS = {"picture": ".png", "pdf": ".pdf", "estimates": ".csv", "runs": "_runs.csv", "parameters": ".json"}
PAGE = "index.html"
LOCAL = re.compile(r"""(?<=href=")([\w./-]+\.\w+)(?=["#])""")  # links to files of the project
LED_TO = ("ledger/*.md", "*.md", "reports/*.md", "../docs/*.md")  # to which notebooks lead, seen from figures/
SMALL = "at small parameters"
UNDESCRIBED = re.compile(r"<img (?![^>]*\balt=)")  # pictures that a screen reader would pass over
ALT = 'alt="No description has been provided for this image" '
BOX = re.compile(r'<div class="(?:[\w-]+ )*jp-(?:Cell-inputWrapper|OutputArea-output)[ "][^>]*')  # that scroll by keys
SCRIPT = "charts.js"
POINTS = 300  # single runs in a chart of the page, which has all figures
PUBLISHED = "published"  # the link to figures/ beside the page, without which a server of its folder has small ones
RENDERING = Lock()  # nbconvert renders one page at a time
NUMBERED = re.compile(r"(fig|table)_(\d\w*)")


class Folders(NamedTuple):
    """Where a run of the notebooks left its files."""

    out: Path  # the notebooks wrote to <out>/figures
    executed: Path  # folder of the executed copies
    notebooks: Path  # folder of the notebooks that were run
    beside: Path | None  # another figures/, whose pictures are shown beside those of the same name
    scale: str  # such as "at small parameters"


def save(page, run, failed=(), *, sentences=None, heading=None, left_out=()):
    """Write the page of a run's figures, with `failed` notebooks ({name: error}); return the number of figures.

    With `sentences`, {figure: sentence}, the page has these figures alone, by number. `left_out`: notebooks not run."""
    from bandits_companion import charts  # which takes a second to load

    page, failed, drawn, asked = Path(page), dict(failed), figures(run), dict(left_out)
    if sentences is not None:
        drawn = sorted((pair for pair in drawn if named(pair[1]) in sentences), key=_in_papers_order)
    names = [name for name, _ in drawn]
    names = sorted({*names, *failed}) if sentences is None else [*dict.fromkeys([*names, *failed])]
    notebooks = [_notebook(name, run, page.parent) for name in names]
    for notebook in notebooks:
        own = [_figure(file, run, page.parent) for name, file in drawn if name == notebook["name"]]
        notebook["figures"] = sorted(own, key=lambda figure: _place(figure["name"], notebook["code"]))
    words = {"parts": _parts(notebooks), "failed": failed, "run": run, "count": len(drawn)}
    words |= {
        "sentences": sentences or {},
        "heading": heading or f"All figures, {run.scale}",
        "left_out": {why: [name for name in asked if asked[name] == why] for why in asked.values()},
    }
    words["script"] = SCRIPT
    atomic_write(page.parent / SCRIPT, charts.script(), parents=True)
    words["executed"] = shown(run.executed, run.notebooks.parent)
    pages = [(file.parent.name, file.stem, _link(made, page.parent)) for file, made in led_to(run)]
    words["ledger"] = {name: link for folder, name, link in pages if folder == "ledger"}
    words["columns"] = next((link for folder, name, link in pages if (folder, name) == ("figures", "README")), None)
    template = files(__package__).joinpath("notebook_runs.html").read_text(encoding="utf-8")
    environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True)
    atomic_write(page, environment.from_string(template).render(words), parents=True)
    return len(drawn)


def shown(path, root):
    """Return a path relative to the root of the project, if it lies there."""
    path, root = path.resolve(), root.resolve()
    return (path.relative_to(root) if path.is_relative_to(root) else path).as_posix()


def figures(run):
    """Return (notebook, json beside the figure) of every figure below <out>/figures."""
    described = sorted((run.out / "figures").glob("*/*.json"))
    drawn = (file for file in described if file.with_suffix(".png").exists())
    return [(drawn_by(file), file) for file in drawn if "alt" in json.loads(file.read_text(encoding="utf-8"))]


def _in_papers_order(pair):
    """Sort (notebook, json beside the figure) by paper and by number; figures without one follow by notebook."""
    name, described = pair
    papers, numbered = [*PARTS], NUMBERED.fullmatch(described.stem)
    paper = papers.index(described.parent.name) if described.parent.name in papers else len(papers)
    return paper, not numbered, described.stem if numbered else name


def named(described):
    """Return the name of a figure, "<paper>/<figure>", from the json beside it."""
    return f"{described.parent.name}/{described.stem}"


def drawn_by(described):
    """Return the notebook that drew a figure, as its json file says."""
    command = json.loads(described.read_text(encoding="utf-8"))["command"]
    return command.partition("notebooks/")[2].partition(".ipynb")[0]


def title(stem):
    """Return a figure's title from the stem of its file: its number in the paper, or words."""
    if number := NUMBERED.fullmatch(stem):
        return f"{'Figure' if number[1] == 'fig' else 'Table'} " + re.sub(r"(?<=[a-z])(?=[a-z])", ", ", number[2])
    words = re.sub(r"(?<=\d)_(?=\d)", ".", stem.removeprefix("fig_")).replace("_", " ")
    return words[:1].upper() + words[1:]


def _pages(run, *kinds):
    """Return the pages in Markdown beside a run."""
    if run.beside is None:
        return []
    return [file.resolve() for kind in kinds for file in sorted(run.beside.glob(kind))]


@functools.cache
def _exporter():
    """Return what renders pages; it keeps its templates, which take longer than most pages."""
    from nbconvert.exporters.html import Highlight2HTML, HTMLExporter, TemplateExporter, WidgetsDataTypeFilter

    class Exporter(HTMLExporter):
        def from_notebook_node(self, nb, resources=None, **options):  # HTMLExporter parses its page to change two tags
            language, resources = nb.metadata.get("language_info", {}), self._init_resources(resources)
            shown = {"notebook_metadata": self._nb_metadata, "parent": self, "resources": resources}
            highlight = Highlight2HTML(pygments_lexer=language.get("pygments_lexer"), parent=self)
            self.register_filter("highlight_code", highlight)
            self.register_filter("filter_data_type", WidgetsDataTypeFilter(**shown))
            html, resources = TemplateExporter.from_notebook_node(self, nb, resources, **options)
            return BOX.sub(r'\g<0> tabindex="0"', UNDESCRIBED.sub(r"\g<0>" + ALT, html)), resources

    exporter = Exporter()
    # Pygments has escaped what this filter gets, and pages with and without it are equal; it takes a third of the time
    exporter.register_filter("clean_html", lambda html: html)
    return exporter


def led_to(run):
    """Return (page in Markdown, its web page) for the pages to which notebooks and ledger lead."""
    return [(file, rendered(file, run)) for file in _pages(run, *LED_TO)]


def rendered(file, run):
    """Return the web page of an executed notebook or of a page in Markdown; it is made if it is missing or older."""
    named = file.relative_to(run.beside.resolve().parent if file.suffix == ".md" else run.executed.parent)
    made = (run.executed.parent / named).with_suffix(".html")
    if not made.exists() or made.stat().st_mtime < file.stat().st_mtime:
        text = file.read_text(encoding="utf-8")
        cells = [nbformat.v4.new_markdown_cell(text)] if file.suffix == ".md" else None
        notebook = nbformat.v4.new_notebook(cells=cells) if cells else nbformat.reads(text, as_version=4)
        with RENDERING:
            body, _ = _exporter().from_notebook_node(notebook, {"metadata": {"name": file.stem}})
        source, pages = run.notebooks if cells is None else file.parent, _pages(run, *LED_TO)

        def led(link):  # to another rendered page, or to the file of the project
            target = (source / link[1]).resolve()
            if target.suffix == ".ipynb" or target in pages:
                return link[1].removesuffix(target.suffix) + ".html"
            if run.beside and target.is_relative_to(run.beside.resolve()) and target.exists():
                return _link(_published(target, run), made.parent)
            return Path(os.path.relpath(target, made.resolve().parent)).as_posix() if target.exists() else link[1]

        atomic_write(made, LOCAL.sub(led, body), parents=True)
    return made


def _published(file, run):
    """Return a file of the published figures, by a link to their folder that lies beside the pages."""
    link = run.executed.parent / PUBLISHED
    link.parent.mkdir(parents=True, exist_ok=True)
    with suppress(FileExistsError):
        link.symlink_to(os.path.relpath(run.beside.resolve(), link.parent.resolve()), target_is_directory=True)
    return link / file.resolve().relative_to(run.beside.resolve())


def _parts(notebooks):
    """Return {heading: notebooks} in the order of the papers; notebooks of no paper follow."""
    keys = [book["name"].partition("_")[0] for book in notebooks]
    parts: dict[str, list] = {PARTS.get(key, key): [] for key in [*PARTS, *sorted(keys)] if key in keys}
    for key, book in zip(keys, notebooks, strict=True):
        parts[PARTS.get(key, key)].append(book)
    return parts


def _notebook(name, run, folder):
    """Return what the page says of a notebook, and its code, which orders its figures."""
    source, executed = run.notebooks / f"{name}.ipynb", run.executed / f"{name}.ipynb"
    cells = json.loads(source.read_text(encoding="utf-8"))["cells"] if source.exists() else []
    texts = ["".join(cell["source"]) for cell in cells]
    heading = next((text.partition("\n")[0][2:] for text in texts if text.startswith("# ")), name)
    code = "\n".join(text for text, cell in zip(texts, cells, strict=True) if cell["cell_type"] == "code")
    shown = _link(rendered(executed, run), folder) if executed.exists() else None
    return {"name": name, "heading": heading, "executed": shown, "code": code}


def _place(name, code):
    """Return the place of a figure: figures stand in the order in which their notebook saves them."""
    found = re.search(rf"""["']{re.escape(name)}["']""", code)
    return (found.start() if found else len(code), name)


def _figure(described, run, folder):
    """Return what the page says of a figure and of the same figure at the papers' scale."""
    name = named(described)
    of_paper = described.parent.name != "companion"  # whose larger runs are of no paper, nor of a reader's rule
    large = run.beside / f"{name}.json" if run.beside and of_paper else None
    shown_large = _picture(_published(large, run), folder) if large and large.exists() else None
    own = _picture(described, folder)
    used, notebook = own["parameters"], run.notebooks / f"{drawn_by(described)}.ipynb"
    known = parameters.read(notebook) if notebook.exists() and run.scale == SMALL else {}
    others = {key: value.default for key, value in known.items() if key not in (*ELSEWHERE, "runs", "seed")}
    own["given"] = {key: used[key] for key, default in others.items() if key in used and used[key] != default}
    return {"name": name, "title": title(described.stem), "own": own, "large": shown_large}


def _picture(described, folder):
    """Return the links, size, description, parameters and chart of a picture."""
    from bandits_companion import charts  # which takes a second to load

    about = json.loads(described.read_text(encoding="utf-8"))
    width, height = struct.unpack(">II", described.with_suffix(".png").read_bytes()[16:24])  # in a png's first chunk
    links = {kind: _link(described.with_name(described.stem + end), folder) for kind, end in KINDS.items()}
    words = " ".join(about["alt"].split())
    size = {"width": width, "height": height}
    chart = charts.html(described.with_suffix(".csv"), points=POINTS)
    return {"links": links, "words": words, "parameters": about["parameters"], "chart": chart} | size


def _link(file, folder):
    """Return the address of a file relative to the page's folder, None if there is no such file."""
    return quote(Path(os.path.relpath(file, folder)).as_posix()) if file.exists() else None


COLOUR = re.compile(r"\x1b\[[0-9;]*m")  # of a terminal, in what a kernel says of an error


class Execution(NamedTuple):
    """What became of one notebook."""

    name: str
    seconds: float
    cpu: float  # seconds of its kernel and of the kernel's workers
    message: str  # how it went
    error: str  # last line of its error, "" without any


def last_line(error):
    """Return the last line of an error that is not empty, without a terminal's colours."""
    lines = [line.strip() for line in COLOUR.sub("", str(error)).splitlines() if line.strip()]
    return lines[-1] if lines else type(error).__name__


def close(played: Iterable[Execution], seconds, run: Folders, page):
    """Write the page; return about ten lines that summarise the run."""
    played = list(played)
    root, failed = run.notebooks.parent, {one.name: one.error for one in played if one.error}
    save(page / PAGE, run, failed)
    drawn = sum(name in {one.name for one in played} - set(failed) for name, _ in figures(run))
    lines = [f"{count(len(played), 'notebook')} in {duration(seconds / 60)}, {count(drawn, 'figure')}, {run.scale}"]
    lines += [f"FAILED {name}: {why} ({shown(run.executed / name, root)}.ipynb)" for name, why in failed.items()]
    lines += _sentences(run.out / "figures", [one.name for one in played if not one.error], run.scale)
    beside = "beside the one at the papers' scale, " if run.beside else ""
    return "\n".join([*lines, f"open {shown(page / PAGE, root)}: every figure {beside}with its data and its notebook"])


def compared(folder, names):
    """Return the comparison of all rows that notebooks saved below a folder figures/ with the published ones."""
    comparisons = []
    for described in sorted(Path(folder).glob("*/*.json")):
        about = json.loads(described.read_text(encoding="utf-8"))
        if "published" in about and drawn_by(described) in names:
            comparisons.append((named(described), Comparison(**about["published"])))
    left_out: Counter[str] = Counter()
    for name, one in comparisons:
        left_out.update({f"{name}: {reason}": rows for reason, rows in one.left_out.items()})
    differs = "\n".join(f"{name}: {one.differs}" for name, one in comparisons if one.differs)
    compared, equal = sum(one.compared for _, one in comparisons), sum(one.equal for _, one in comparisons)
    return Comparison(compared, equal, dict(left_out), differs)


def in_words(comparison):
    """Return lines on a comparison: the rows that were not compared, by reason, those that differ, and the total."""
    lines = [f"not compared, {rows:,} rows of {reason}" for reason, rows in comparison.left_out.items()]
    lines += [f"DIFFERS {line}" for line in comparison.differs.splitlines()]
    if not comparison.compared:
        why = ", because parameters or files differ (see above)" if comparison.left_out else ""
        return [*lines, f"No row was compared with the published ones{why}."]
    return [*lines, f"{comparison.equal:,} of {comparison.compared:,} rows equal the published ones on this machine."]


def minutes(plan):
    """Return a table in Markdown: for each paper the CPU minutes of its notebooks, by the entries of paper.yaml."""
    columns = {"make paper (minutes)": "minutes", "make verify (minutes)": "verify_minutes"}
    rows = [
        {"paper": name.partition("_")[0]} | {of: entry[key] for of, key in columns.items()}
        for name, entry in plan.items()
    ]
    sums = pd.DataFrame(rows).groupby("paper").sum()
    sums.loc["all"] = sums.sum()
    return markdown(sums.map(lambda total: f"{total:.0f}" if total >= 1 else "less than 1").reset_index())


def count(number, word):
    return f"{number} {word}{'' if number == 1 else 's'}"


def _sentences(folder, names, scale):
    """Return the totals of a run as lines."""
    files = [file for name in sorted(names) if (file := folder / "claims" / f"{name}.csv").exists()]
    counts = totals(pd.concat(map(read_file, files), ignore_index=True)) if files else pd.DataFrame()
    return [f"The papers' sentences {scale}:", *counts.rename_axis(None).to_string().splitlines()] * bool(len(counts))


def duration(minutes):
    return f"{60 * minutes:.0f} s" if minutes < 1 else f"{minutes:.1f} min" if minutes < 60 else f"{minutes / 60:.1f} h"


def processor() -> str:
    """Return the name of the processor, as Linux or Python know it."""
    cpuinfo = Path("/proc/cpuinfo")
    names = re.findall(r"(?m)^model name\s*:\s*(.*)", cpuinfo.read_text()) if cpuinfo.exists() else []
    return names[0] if names else platform.processor() or platform.machine()


# --- a reader's rule in every figure that compares rules

YARDSTICK = re.compile(r"oracle|_told$|^one static stage$|^lower_bound$")  # what no rule could be


def needs_of(notebook):
    """Return the arguments that a rule must have to stand in a notebook's figures, None if no rule can."""
    cells = json.loads(Path(notebook).read_text(encoding="utf-8"))["cells"]
    code = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
    if "own_rule.played" not in code:
        return None
    calls = [node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Call)]
    calls = [call for call in calls if ast.unparse(call.func) == "own_rule.played"]
    arguments = {key for call in calls for key in re.findall(r"'(\w+)':", ast.unparse(call.args[2]))}
    arguments |= {keyword.arg for call in calls for keyword in call.keywords}
    return [name for name in NEEDS if name in arguments]


def sentences_of(run, asked):
    """Return {figure: how the reader's rule does} for the figures of a run that hold it."""
    by_figure = {}
    for name, described in sorted(figures(run), key=_in_papers_order):
        estimates = pd.read_csv(described.with_suffix(".csv"))
        if "algorithm" in estimates and (estimates["algorithm"] == OWN).any():
            names = json.loads(described.read_text(encoding="utf-8")).get("names", {})
            by_figure[named(described)] = sentence_of(estimates, "budget" in asked[name], names)
    return by_figure


def sentence_of(estimates, budget, names=MappingProxyType({})):
    """Say how a reader's rule does beside the best of the papers' rules, where none of its runs was cut off.

    `names` has names of rules that have none in bandits_lib.figures.style."""
    from bandits_lib.figures import style  # which takes a second to load

    settings = list(estimates.columns[: estimates.columns.get_loc("algorithm")])
    cut = estimates["not_stopped"].fillna(0) if "not_stopped" in estimates else 0
    setting = [str(key) for key in estimates[settings].itertuples(index=False, name=None)]
    estimates = estimates.assign(cut=cut, setting=setting)
    mine = estimates[estimates["algorithm"] == OWN]
    once = mine.drop_duplicates(estimates.columns.difference(["options", "setting"]))  # panels may share runs
    ended_runs = once["runs"] - once["cut"]
    runs, stopped, wrong = int(once["runs"].sum()), int(ended_runs.sum()), (once["error_rate"] * ended_runs).sum()
    wrongly = f"it names a wrong arm in {wrong:.0f} of {stopped} runs" + " that ended" * (stopped < runs)
    wrongly += f" (these runs allow an error probability of up to {wilson_interval(round(wrong), stopped)[2]:.1%})"
    was_cut_off = f"was cut off in {runs - stopped} of {runs} runs"
    cut_off = f" It {was_cut_off}." if stopped < runs else ""
    ended = estimates[estimates["setting"].isin(mine.loc[mine["cut"] == 0, "setting"])]
    if ended.empty:
        return f"Your rule {was_cut_off}" + (f"; {wrongly}." if stopped else ".")
    values = ended.pivot(index="setting", columns="algorithm", values="error_rate" if budget else "mean")
    means = (values if budget else np.log(values)).mean(skipna=False)
    rivals = means[[name for name in means.index if name != OWN and not YARDSTICK.search(name)]].dropna()
    if rivals.empty:
        return f"No other rule stopped in all settings in which your rule did; {wrongly}.{cut_off}"
    rival = names.get(rivals.idxmin(), style.label(rivals.idxmin())).replace("$", "")  # of TeX
    best, least = f"the best of the papers' rules ({rival})", rivals.min()
    over = f"over {len(values)} settings" if len(values) > 1 else "in the one setting"
    if budget:
        return (
            f"Your rule names a wrong arm in {means[OWN]:.1%} of {runs} runs, and {best} in {least:.1%} (mean {over})."
        )
    return (
        f"Your rule takes {np.exp(means[OWN]):,.0f} pulls, and {best} {np.exp(least):,.0f} (geometric mean {over} of"
        f" the mean pulls); {wrongly}.{cut_off}"
    )
