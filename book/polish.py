"""Pages for every reader: pictures open in full, tables suit narrow screens and keyboards, links have descriptions."""

import html
import json
import re
from pathlib import Path

from bs4 import BeautifulSoup
from latex2mathml.converter import convert
from PIL import Image

GALLERY = "figures/gallery"
WIDTH = 640  # pixels of a thumbnail
FORMULA = re.compile(r"\$([^$\s](?:[^$\n]*[^$\s])?)\$")
MANY, MOST, LONG = 6, 9, 60  # rows are cards: always with so many columns, up to so many; signs of a long cell
FIRST = "figures/fiez2019/fig_1a.png"  # the picture of pages that have none


def polish(app, pagename, templatename, context, doctree):
    tree = context.get("furo_navigation_tree", "")
    context["furo_navigation_tree"] = tree.replace('role="heading"', 'role="heading" aria-level="2"')
    soup = BeautifulSoup(context.get("body", ""), "html.parser")
    for picture in soup.select('img:not([src^="data:"])'):
        open_in_full(soup, picture)
    for text in soup.find_all(string=FORMULA):
        set_formulas(text)
    for table in soup.find_all("table"):
        set_table(soup, table)
    for tag in soup.select(".citation-list[role]"):
        del tag["role"]  # a list whose children are no items of one
    for block in soup.select("div.highlight > pre, div.math, div.math-wrapper"):
        block["tabindex"] = "0"  # what scrolls can be scrolled by keys
    context["metatags"] = context.get("metatags", "") + meta(app, soup, context)
    if pagename == GALLERY:
        for picture in soup.find_all("img"):
            picture["src"] = thumbnail(picture["src"])
    if "body" in context:
        context["body"] = str(soup)


# --- pictures


def open_in_full(soup, picture):
    picture["loading"], picture["decoding"] = "lazy", "async"
    if picture.find_parent("a") is None:
        picture.wrap(soup.new_tag("a", href=picture["src"], attrs={"class": "picture", "title": "Open in full"}))


def thumbnail(src):
    folder, _, name = src.rpartition("/")
    return f"{folder}/small/{Path(name).stem}.webp"


def draw_thumbnails(app, exception):
    """The gallery's pictures once more, small."""
    if exception or app.builder.format != "html":
        return
    for source, (pages, name) in app.env.images.items():
        if GALLERY in pages:
            small = Path(app.outdir) / thumbnail(f"_images/{name}")
            small.parent.mkdir(exist_ok=True)
            with Image.open(Path(app.srcdir) / source) as picture:
                picture.thumbnail((WIDTH, 2 * WIDTH))
                picture.save(small, quality=80)


# --- formulas and tables


def set_formulas(text):
    """Formulas in what is HTML already, such as a table of a notebook."""
    if text.find_parent(["pre", "code", "math", "script"]) is None:
        for k, part in enumerate(re.split(FORMULA, text)):
            text.insert_before(BeautifulSoup(convert(part), "html.parser") if k % 2 else part)
        text.extract()


def set_table(soup, table):
    """A table in a box that scrolls by itself; rows with long texts as cards, on narrow screens or always."""
    table.attrs.pop("border", None)
    box = table.find_parent(class_="table-wrapper") or table.wrap(soup.new_tag("div"))
    box["class"] = ["table-wrapper", "container"]
    box.attrs |= {"tabindex": "0", "role": "region", "aria-label": "Table, scrolls sideways"}
    heads = [cell.get_text(" ", strip=True) for cell in table.select("thead tr:last-of-type > *")]
    longest = max((len(cell.get_text(" ", strip=True)) for cell in table.select("tbody td")), default=0)
    kind = ["cards" if len(heads) >= MANY else "stacks"] if 1 < len(heads) <= MOST and longest > LONG else []
    table["class"] = [*{"docutils", *table.get("class", [])}, *kind]
    if kind:  # each cell shows its column's head
        table["style"] = "; ".join(f"--column-{k}: {json.dumps(head)}" for k, head in enumerate(heads, start=1))


# --- what a link to a page shows


def meta(app, soup, context):
    """Description, title and picture of a page, for search engines and for places where it is linked."""
    title = BeautifulSoup(context.get("title", ""), "html.parser").get_text() or app.config.html_title
    title, text = html.escape(title), html.escape(first_words(soup) or f"{app.config.project}: {title}")
    default = context["pathto"](f"_images/{app.env.images[FIRST][1]}", resource=True)
    picture = next((tag["href"] for tag in soup.select("a.picture")), default)
    tags = {"og:title": title, "og:description": text, "og:type": "article", "og:site_name": app.config.project}
    tags["og:image"] = absolute(app, picture)
    lines = [f'<meta property="{name}" content="{value}">' for name, value in tags.items()]
    return "\n".join(["", f'<meta name="description" content="{text}">', *lines, ""])


def first_words(soup, most=200):
    """The first paragraph of two dozen signs and more, without formulas' sources, up to a word's end."""
    texts = (" ".join(tag.get_text().split()) for tag in soup.find_all("p") if not tag.find_parent(["table", "figure"]))
    text = next((text for text in texts if len(text) > 24 and not text.startswith("Download")), "")
    return text if len(text) <= most else text[:most].rpartition(" ")[0] + " ..."


def absolute(app, picture):
    """A picture's address on the site, whole if the site's own is known (`html_baseurl`)."""
    base = app.config.html_baseurl.rstrip("/")
    return f"{base}/{picture.lstrip('./')}" if base else picture


def setup(app):
    app.connect("html-page-context", polish, priority=900)  # after furo
    app.connect("build-finished", draw_thumbnails)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
