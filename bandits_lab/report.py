"""Write one HTML page on an experiment: the answer, what may be the best, what is to be measured, the settings."""

import base64
import io
import warnings
from datetime import UTC, datetime
from html import escape

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.font_manager import get_font_names

from bandits_lab.anytime_intervals import IN_PLAY
from bandits_lab.diagnosis import diagnose, parts
from bandits_lab.measurements import nothing, several
from bandits_lib.protocol import total

STYLE = """body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; color: #222 }
table { border-collapse: collapse; margin: 1rem 0 } th, td { padding: .2rem .7rem; border-bottom: 1px solid #ccc }
td { text-align: right } th { text-align: left } img { max-width: 100% } pre { white-space: pre-wrap }
.answer { font-size: 1.3rem; border-left: .4rem solid #029e73; padding: .5rem 1rem; background: #f2f8f6 }"""
LEADERS, OTHERS = 40, 20  # arms that a picture shows at most: the first, and a sample of the others
YES = {True: "yes", False: "no"}
LONGEST = 60  # letters of a name in a picture


def page(experiment, lab, answer, said):
    """Return the page as HTML text; `said` holds the warnings."""
    sections = []
    try:
        sections.append(_standings(experiment.standings(lab), experiment.in_unit))
    except ValueError as error:
        sections.append(_section("Which arm is best?", _p(str(error))))
    if said:
        items = "".join(f"<li>{escape(text)}</li>" for text in said)
        sections.append(_section("Warnings", f"<ul>{items}</ul>"))
    sections += [_wanted(experiment, lab), _model(experiment, lab), _settings(experiment)]
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
    rows = {name.replace("_", " "): value for name, value in experiment.settings.items() if value}
    del rows["table"], rows["sha256"]
    if planned := rows.pop("planned", None):
        rows["plan"] = f"about {planned['measurements']:,.0f} measurements if the lead is {planned['gap']:g}"
    told = {name: ", ".join(value) if isinstance(value, list) else str(value) for name, value in rows.items()}
    table = pd.Series(told).to_frame().to_html(header=False, border=0)
    return _section("Settings", table + _p(f"The log of all measurements is {experiment.log.name}."))


def _standings(known, unit):
    best, K = known.may_be_best, len(known.table)
    rows = np.arange(K)
    if K > LEADERS + OTHERS:
        rows = np.append(rows[:LEADERS], np.linspace(LEADERS, K - 1, OTHERS).astype(int))

    def draw():
        ax = known._replace(table=known.table.assign(in_play=best)).plot(rows=rows, estimates=True)
        ax.set_xlabel(f"estimate{unit}")
        return ax

    legend = _p(
        "A dot is the estimate of an arm, and the line is the interval of how far the arm may be from "
        f"{known.table.index[known.leader]}. Blue arms may be the best, grey arms are not."
        f"{' The star is the answer.' * (known.answer is not None)}{_hidden(K - len(rows))}"
    )
    shown = known.table.sort_values("behind", kind="stable").iloc[rows]
    told = {f"estimate{unit}": shown["estimate"].map("{:.4g}".format), "may be best": best[shown.index].map(YES.get)}
    body = _p(repr(known).splitlines()[-1]) + legend + _image(draw, known.alt) + pd.DataFrame(told).to_html(border=0)
    return _section("Which arm is best?", body)


def _hidden(number):
    return f" {several(number, 'more arm')} are not drawn." if number else ""


def _wanted(experiment, lab):
    made = total([nothing(len(experiment.names)), *lab.log]).counts
    wanted = np.zeros_like(made) if lab.ask() is None else lab.ask()
    order = np.lexsort((-made, -wanted))
    order = order[(made + wanted)[order] > 0]
    drawn = order[: LEADERS + OTHERS]
    said = (
        f"{several(int(made.sum()), 'measurement')} of {several(np.count_nonzero(made), 'arm')} were used (grey), and "
        f"{several(int(wanted.sum()), 'measurement')} of {several(np.count_nonzero(wanted), 'arm')} are wanted now "
        f"(blue).{' Nothing more is wanted.' * (lab.result is not None)}{_hidden(len(order) - len(drawn))}"
    )
    names = [experiment.names[k] for k in drawn]
    picture = _image(lambda: _draw_counts(names, made[drawn], wanted[drawn]), said)
    return _section("What is still to be measured?", _p(said) + picture)


def _draw_counts(names, made, wanted):
    _, ax = plt.subplots(figsize=(5, 1.0 + 0.19 * max(len(names), 2)), layout="constrained")
    ax.barh(range(len(names)), made, color="0.7", height=0.7)
    ax.barh(range(len(names)), wanted, left=made, color=IN_PLAY, height=0.7)
    ax.set(yticks=range(len(names)), ylim=(max(len(names), 1) - 0.4, -0.6), xlabel="measurements")
    ax.set_yticklabels(names)
    return ax


def _model(experiment, lab):
    title = "Does the model fit?"
    if not lab.log:
        return _section(title, _p("Nothing was measured yet."))
    found = parts(diagnose(experiment.features, total(lab.log), experiment.settings["sigma"], names=experiment.names))
    texts = (f"<p><strong>{name.capitalize()}</strong>: {escape(text)}</p>" for name, text in found.items())
    return _section(title, "".join(texts))


def _image(draw, alt):
    """Return a picture as HTML, with matplotlib's own settings instead of the user's; a $ in a name is no formula."""
    fonts = ["DejaVu Sans", *[name for name in get_font_names() if "CJK" in name]]
    with plt.style.context(["default", {"text.parse_math": False, "font.family": fonts}]), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of matplotlib, such as a letter that no font has
        ax, data = draw(), io.BytesIO()
        names = [label.get_text() for label in ax.get_yticklabels()]
        ax.set_yticklabels([name if len(name) <= LONGEST else f"{name[:LONGEST]}..." for name in names], fontsize=7)
        ax.figure.savefig(data, format="png", dpi=130, metadata={"Software": None})
        plt.close(ax.figure)
    encoded = base64.b64encode(data.getvalue()).decode()
    return f'<img alt="{escape(alt)}" src="data:image/png;base64,{encoded}">'
