"""Change pages: pictures open in full, tables suit narrow screens and keyboards, links have descriptions."""

import html
import json
import re
from functools import cache
from pathlib import Path

import numpy as np
from bs4 import BeautifulSoup
from mathml import mathml
from PIL import Image

from bandits_companion import charts

GALLERY, GLOSSARY = "figures/gallery", "docs/glossary"
TERM = re.compile(r"^\| ([^|,]+) \| (.+) \|$", re.MULTILINE)
VERBS = {"run", "active", "root", "item"}  # words that mostly have their common meaning
WIDTH = 640  # pixels of a thumbnail
FORMULA = re.compile(r"\$([^$\s](?:[^$\n]*[^$\s])?)\$")
MOST, LONG = 9, 60  # rows are cards on narrow screens for at most MOST columns, if a cell has more than LONG characters
FIRST = "figures/fiez2019/fig_1a.png"  # the picture of pages that have none


def polish(app, pagename, templatename, context, doctree):
    tree = context.get("furo_navigation_tree", "")
    context["furo_navigation_tree"] = tree.replace('role="heading"', 'role="heading" aria-level="2"')
    soup = BeautifulSoup(context.get("body", ""), "html.parser")
    for picture in soup.select('img:not([src^="data:"])'):
        reserve_room(app, picture)
        open_in_full(soup, picture)
    for text in soup.find_all(string=FORMULA):
        set_formulas(text)
    for link in soup.select("a[href]:has(math)"):
        name_formula(link)
    for table in soup.find_all("table"):
        set_table(soup, table)
    for tag in soup.select(".citation-list[role]"):
        del tag["role"]  # its children are not items of a list
    for block in soup.select("div.highlight > pre, div.math, div.math-wrapper"):
        block["tabindex"] = "0"  # so that keys can scroll it
    for words in soup.select("details > summary > p"):  # by book.css, so that searches do not show them
        words["data-words"] = words.string
        words.string = ""
    if soup.select_one(".chart"):
        app.add_js_file("charts.js", defer="defer")
    if pagename != GLOSSARY and not pagename.startswith("api"):
        explain(soup, app.builder.get_relative_uri(pagename, GLOSSARY))
    context["metatags"] = context.get("metatags", "") + meta(app, soup, context)
    if pagename == GALLERY:
        for figure in soup.find_all("figure"):
            figure.img["src"] = thumbnail(figure.img["src"])
            del figure.img["width"], figure.img["height"]  # its box has a height of its own
            figure.a.attrs = {"href": figure.figcaption.a["href"]}
    if "body" in context:
        context["body"] = str(soup)


# --- pictures


def reserve_room(app, picture):
    """Write the size of a picture of the site, so that what is below does not move when it is loaded."""
    sources = {name: source for source, (_, name) in app.env.images.items()}
    if source := sources.get(picture["src"].rpartition("/")[2]):
        with Image.open(Path(app.srcdir) / source) as opened:
            picture["width"], picture["height"] = map(str, opened.size)


def open_in_full(soup, picture):
    picture["loading"], picture["decoding"] = "lazy", "async"
    if picture.find_parent("a") is None:
        picture.wrap(soup.new_tag("a", href=picture["src"], attrs={"class": "picture", "title": "Open in full"}))


def thumbnail(src):
    folder, _, name = src.rpartition("/")
    return f"{folder}/small/{Path(name).stem}.webp"


def write_script(app, exception):
    (Path(app.outdir) / "_static" / "charts.js").write_text(charts.script(), encoding="utf-8")


def draw_thumbnails(app, exception):
    """Write a small picture of the first panel of each picture in the gallery."""
    if exception or app.builder.format != "html":
        return
    for source, (pages, name) in app.env.images.items():
        if GALLERY in pages:
            small = Path(app.outdir) / thumbnail(f"_images/{name}")
            small.parent.mkdir(exist_ok=True)
            with Image.open(Path(app.srcdir) / source) as picture:
                panel = picture.crop(first_panel(picture))
                panel.thumbnail((WIDTH, WIDTH))
                panel.save(small, quality=80)


def first_panel(picture):
    """Return the box of a picture's first panel with its labels; its axes are the long runs of ink, down and across.

    The edges of the box are in white, so that they cut no text.
    """
    ink = np.asarray(picture.convert("L")) < 200
    rows = runs(ink.any(axis=1), 0.12)
    if not rows:
        return 0, 0, *picture.size
    (top, bottom), height = rows[0], len(ink)
    low = ink[max(bottom - height // 20, 0) : bottom]  # with the axes' lower lines
    columns = runs(low[low.sum(axis=1).argmax()], 0.1)
    if not columns:
        return 0, 0, *picture.size
    right = white(ink[top : bottom + 40].any(axis=0), columns[0][1] + 15)  # numbers below the axis, too
    beyond = np.flatnonzero(ink[:, right : right + 3].any(axis=1))  # of text that belongs to several panels
    first = max(beyond[beyond < top], default=-1) + 1
    last = min(beyond[beyond >= bottom], default=height)
    filled = ink[:, :right].any(axis=1)
    if len(rows) > 1 and rows[1][0] <= last:  # in the middle of the widest gap above the next row of panels
        gaps = runs(~filled[bottom : rows[1][0]], 0)
        end = bottom + sum(max(gaps, key=lambda gap: gap[1] - gap[0])) // 2 if gaps else bottom
    else:
        end = white(filled, white(filled[:last], bottom + 95), -1, stop=bottom)
    return 0, white(filled, top - 55, -1, stop=first), right, end


def white(filled, at, step=1, stop=None):
    """Return the first line without ink from `at` on, in the direction of `step`; `stop` or the end if none."""
    stop = len(filled) if stop is None else stop
    lines = range(min(at, len(filled)), stop, step)
    return int(next((k for k in lines if k == len(filled) or not filled[k]), stop))


def runs(ink, share):
    """Return [first, last) of the runs of ink that are longer than a share of the whole."""
    ends = np.flatnonzero(np.diff(ink.astype(int), prepend=0, append=0))
    return [pair for pair in zip(ends[::2], ends[1::2], strict=True) if pair[1] - pair[0] > share * len(ink)]


# --- words of the glossary


@cache
def glossary():
    """Return {term: meaning}, and the pattern that finds terms."""
    page = (Path(__file__).parent.parent / "docs" / "glossary.md").read_text(encoding="utf-8").partition("## Terms")[2]
    plain = {term: re.sub(r"\[([^]]+)\]\([^)]+\)|`", r"\1", meaning) for term, meaning in TERM.findall(page)}
    terms = {term: meaning for term, meaning in plain.items() if term not in VERBS | {"term"}}
    longest = sorted(map(re.escape, terms), key=len, reverse=True)
    return terms, re.compile(rf"(?<![\w-])({'|'.join(longest)})(s?)(?![\w-])")


def explain(soup, address):
    """Let the first of each word of the glossary on a page show its meaning on hover, and lead to the glossary."""
    (terms, pattern), seen = glossary(), set()
    for text in soup.find_all(string=pattern):
        if (
            text.find_parent(["p", "li"]) is None
            or text.find_parent(class_="chart")
            or text.find_parent(["a", "code", "pre", "math", "script", "figure"])
        ):
            continue
        if new := next((found for found in pattern.finditer(text) if found[1] not in seen), None):
            seen.add(new[1])
            link = soup.new_tag("a", href=f"{address}#terms", title=terms[new[1]], attrs={"class": "term"})
            link.string = new[0]
            text.insert_before(text[: new.start()], link, text[new.end() :])
            text.extract()


# --- formulas and tables


def set_formulas(text):
    """Convert the formulas in a text of HTML, such as a table of a notebook, to MathML."""
    if text.find_parent(["pre", "code", "math", "script"]) is None:
        for k, part in enumerate(re.split(FORMULA, text)):
            text.insert_before(BeautifulSoup(mathml(part), "html.parser") if k % 2 else part)
        text.extract()


def name_formula(link):
    """Give a link that is a formula and nothing else a name for screen readers: the heading above it."""
    if all(text.find_parent("math") or not text.strip() for text in link.find_all(string=True)):
        heading = link.find_previous(["h1", "h2", "h3"]).get_text().rstrip("¶#")
        link["aria-label"] = f"Formula under {heading}"


def set_table(soup, table):
    """Put a table into a box that scrolls by itself; on narrow screens, rows with long texts are cards."""
    table.attrs.pop("border", None)
    box = table.find_parent(class_="table-wrapper") or table.wrap(soup.new_tag("div"))
    box["class"] = ["table-wrapper", "container"]
    box.attrs |= {"tabindex": "0", "role": "region", "aria-label": "Table, scrolls sideways"}
    heads = [cell.get_text(" ", strip=True) for cell in table.select("thead tr:last-of-type > *")]
    longest = max((len(cell.get_text(" ", strip=True)) for cell in table.select("tbody td")), default=0)
    stacked = 1 < len(heads) <= MOST and longest > LONG
    table["class"] = [*{"docutils", *table.get("class", [])}, *["stacks"] * stacked]
    if stacked:  # each cell shows its column's head
        table["style"] = "; ".join(f"--column-{k}: {json.dumps(head)}" for k, head in enumerate(heads, start=1))


# --- what a link to a page shows


def meta(app, soup, context):
    """Return tags with description, title and picture of a page, for search engines and previews of links."""
    title = BeautifulSoup(context.get("title", ""), "html.parser").get_text() or app.config.html_title
    title, text = html.escape(title), html.escape(first_words(soup) or f"{app.config.project}: {title}")
    own = [tag["href"] for tag in soup.select("a.picture")]
    ours = [context["pathto"](f"_images/{app.env.images[FIRST][1]}", resource=True)] if FIRST in app.env.images else []
    tags = {"og:title": title, "og:description": text, "og:type": "article", "og:site_name": app.config.project}
    if pictures := own + ours:
        tags["og:image"] = absolute(app, pictures[0])
    lines = [f'<meta property="{name}" content="{value}">' for name, value in tags.items()]
    return "\n".join(["", f'<meta name="description" content="{text}">', *lines, ""])


def first_words(soup, most=200):
    """Return the first paragraph of more than 24 characters, cut at the end of a word."""
    texts = (" ".join(tag.get_text().split()) for tag in soup.find_all("p") if not tag.find_parent(["table", "figure"]))
    text = next((text for text in texts if len(text) > 24 and not text.startswith("Download")), "")
    return text if len(text) <= most else text[:most].rpartition(" ")[0] + " ..."


def absolute(app, picture):
    """Return a picture's address on the site; it is absolute if the site's address is known (`html_baseurl`)."""
    base = app.config.html_baseurl.rstrip("/")
    return f"{base}/{picture.lstrip('./')}" if base else picture


def setup(app):
    app.connect("html-page-context", polish, priority=900)  # after furo
    app.connect("build-finished", draw_thumbnails)
    app.connect("build-finished", write_script)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
