"""Write one HTML page on an experiment: the answer, the standings, the fit of the model, the means, the settings."""

import base64
import io
from datetime import UTC, datetime
from html import escape

import matplotlib
import matplotlib.pyplot as plt
import numpy as np

from bandits_lab.diagnosis import diagnose, parts
from bandits_lab.measurements import nothing
from bandits_lib.protocol import total

STYLE = """body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; color: #222 }
table { border-collapse: collapse; margin: 1rem 0 } th, td { padding: .2rem .7rem; border-bottom: 1px solid #ccc }
td { text-align: right } th { text-align: left } img { max-width: 100% } pre { white-space: pre-wrap }
.answer { font-size: 1.3rem; border-left: .4rem solid #029e73; padding: .5rem 1rem; background: #f2f8f6 }"""
LABELS = {"arm_column": "column of the arms", "reward_column": "column of the results", "largest_gap": "largest gap"}


def page(experiment, lab, answer, known, said):
    """Return the page as HTML text; `known()` returns the standings, and `said` holds the warnings."""
    sections = []
    try:
        sections.append(_standings(known(), experiment.in_unit))
    except ValueError as error:
        sections.append(_section("Standings", _p(str(error))))
    if said:
        items = "".join(f"<li>{escape(text[:1].upper() + text[1:].rstrip('.'))}.</li>" for text in said)
        sections.append(_section("Warnings", f"<ul>{items}</ul>"))
    sections += [_model(experiment, lab), _measured(experiment, lab), _settings(experiment)]
    title = f"Experiment {experiment.folder.resolve().name}"
    made = datetime.now(UTC).strftime("%d %B %Y, %H:%M UTC")
    head = f'<p class="answer">{escape(answer)}</p>'
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f"<title>{escape(title)}</title><style>{STYLE}</style></head>\n"
        f"<body><h1>{escape(title)}</h1><p>{made}</p>{head}\n{''.join(sections)}</body></html>\n"
    )


def _section(title, body):
    return f"<section><h2>{escape(title)}</h2>{body}</section>\n"


def _p(text):
    return f"<p>{escape(text)}</p>"


def _settings(experiment):
    rows = {LABELS.get(name, name): value for name, value in experiment.settings.items() if value not in (None, "", [])}
    if found := rows.pop("pilot", None):
        rows["pilot"] = (
            f"{found['measurements']} measurements in {found['file']}: sigma is about "
            f"{experiment.measure(found['sigma'])}, at most {experiment.measure(found['bound'])}"
        )
    if planned := rows.pop("planned", None):
        rows["plan"] = f"{planned:,.0f} measurements on average"
    cells = ((name, ", ".join(value) if isinstance(value, list) else str(value)) for name, value in rows.items())
    lines = "".join(f"<tr><th>{escape(name)}</th><td>{escape(value)}</td></tr>" for name, value in cells)
    return _section("Settings", f"<table>{lines}</table>{_p(f'The log of all measurements is {experiment.log.name}.')}")


def _measured(experiment, lab):
    sample = total([nothing(len(experiment.names)), *lab.log])
    measured = sample.counts > 0
    means = [f"{s / n:.4g}" if n else "" for n, s in zip(sample.counts, sample.sums, strict=True)]
    described = experiment.arms.described.rename(columns=experiment.spelled)
    table = described.assign(**{"measurements": sample.counts, f"mean{experiment.in_unit}": means})
    if lab.ask() is not None:
        table["wanted now"] = lab.ask()
    order = np.argsort(-np.divide(sample.sums, sample.counts, out=np.full(len(measured), -np.inf), where=measured))
    table = table.iloc[order]
    said = f"{sample.counts.sum():,} measurements of {measured.sum()} of the {len(measured)} arms were used."
    said += f" {lab.unused} more are kept for later requests." if lab.unused else ""
    return _section("What was measured, the largest mean first", _p(said) + table.to_html(border=0))


def _standings(known, unit):
    text = repr(known).splitlines()[-1]
    legend = _p(
        "The star or the first row is the leader. Blue items may still be the best, grey items are not. "
        "Each line is the interval of how far the item is behind the leader."
    )
    picture = _image(known.plot, known.alt, unit)
    return _section("Who leads, and what may still be the best", _p(text) + legend + picture)


def _model(experiment, lab):
    title = "Does the model fit?"
    if not lab.log:
        return _section(title, _p("Nothing was measured yet."))
    found = diagnose(experiment.features, total(lab.log), experiment.sigma, names=experiment.names)
    said = "".join(
        f"<p><strong>{name.capitalize()}</strong>: {escape(text)}</p>" for name, text in parts(found).items()
    )
    said += _p(
        "Blue shows the mean of every arm minus its fitted value, with an interval. "
        "Grey shows departures that the test would miss."
    )
    return _section(title, said + _image(found.plot, "Mean of every arm minus its fitted value", experiment.in_unit))


def _image(plot, alt, unit=""):
    """Return a picture as an HTML image; a $ in a name does not begin a formula."""
    with matplotlib.rc_context({"text.parse_math": False}):
        ax = plot()
        ax.set_xlabel(f"{ax.get_xlabel().removesuffix(' (units of reward)')}{unit}")
        figure = ax.figure
        data = io.BytesIO()
        figure.savefig(data, format="png", dpi=130, metadata={"Software": None})
        plt.close(figure)
    encoded = base64.b64encode(data.getvalue()).decode()
    return f'<img alt="{escape(alt)}" src="data:image/png;base64,{encoded}">'
