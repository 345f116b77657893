"""The site is built from what is committed and reads well: contents, pictures, tables, formulas, links, sizes."""

import importlib.util
import inspect
import json
import re
from base64 import b64decode
from itertools import product
from pathlib import Path
from urllib.parse import quote, unquote, urldefrag

import nbformat
import pandas as pd
import pytest
import reference
import sentences
from accessibility import violations
from browser import page
from bs4 import BeautifulSoup
from notebook_pages import TITLES, alike, home, numbered
from PIL import Image
from sentences import claims

from bandits_companion import charts, ledger
from bandits_lib.figures import style

ROOT = Path(__file__).resolve().parent.parent
NOTEBOOKS = sorted(path.stem for path in (ROOT / "notebooks").glob("*.ipynb"))
PAPERS = ("fiez2019", "jedra2020", "azizi2022", "weltz2023")
MEGABYTE = 10**6

spec = importlib.util.spec_from_file_location("gather", ROOT / "book" / "gather.py")
gather = importlib.util.module_from_spec(spec)
spec.loader.exec_module(gather)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("book")
    assert gather.main(folder) == 0, "sphinx warned or failed"
    return folder / "html"


@pytest.fixture(scope="module")
def pages(site):
    files = [file for file in sorted(site.rglob("*.html")) if "_static" not in file.parts]
    return {file: BeautifulSoup(file.read_text(encoding="utf-8"), "html.parser") for file in files}


def local(file, address):
    """The file of the site that an address on a page means."""
    return (file.parent / unquote(urldefrag(address)[0].partition("?")[0])).resolve()


def about(figure):
    return json.loads((ROOT / "figures" / f"{figure}.json").read_text(encoding="utf-8"))


def drawn():
    """Every figure that `make paper` has drawn, as <paper>/<name>."""
    return [f"{file.parent.name}/{file.stem}" for file in sorted((ROOT / "figures").glob("*/*.png"))]


# --- contents


def test_the_contents_lead_to_every_page_in_at_most_thirty_entries(site, pages):
    assert len(pages) <= 150
    links = set()
    for file, soup in pages.items():
        entries = soup.select(".sidebar-tree li > a[href]")
        shown = [entry for entry in entries if all("current" in top["class"] for top in entry.find_parents("li")[1:])]
        assert len(shown) <= 30, f"{file.name} shows {len(shown)} entries"
        links |= {local(file, entry["href"]) for entry in entries if entry["href"] != "#"}
    assert {site / "notebooks" / f"{name}.html" for name in NOTEBOOKS} <= links
    assert {site / "docs" / f"{path.stem}.html" for path in (ROOT / "docs").glob("*.md")} <= links
    assert {site / "figures" / f"{name}.html" for name in ("gallery", "errata", "README")} <= links
    assert {site / "figures" / kind / f"{paper}.html" for kind in ("ledger", "reports") for paper in PAPERS} <= links


def test_each_notebook_can_be_downloaded_as_it_is_committed(site, pages):
    for name in NOTEBOOKS:
        file = site / "notebooks" / f"{name}.html"
        link = next(link for link in pages[file].select("article a") if link.get_text() == "Download this notebook")
        assert local(file, link["href"]).read_bytes() == (ROOT / "notebooks" / f"{name}.ipynb").read_bytes()


def described(pages, site, module, name):
    """(what the reference says of a name, the entries of its lists by their heads)."""
    anchor = pages[site / "api" / f"{module}.html"].find(id=f"{module}.{name}")
    assert anchor is not None, f"{module}.{name} has no place in the reference"
    body = anchor.find_parent("dl")
    heads = body.select("dl.field-list > dt")
    return body, {head.get_text().strip(": "): head.find_next_sibling("dd") for head in reversed(heads)}


def test_the_reference_has_a_page_for_every_module_and_a_place_for_every_name(site, pages):
    listed = {link["href"] for link in pages[site / "api.html"].select("article td:first-child a")}
    assert listed == {f"api/{module}.html" for module in [*reference.public_names(), "bandits_lib.plain"]}
    for module, names in reference.public_names().items():
        table = pages[site / "api" / f"{module}.html"].select_one("article table")
        assert [link["href"] for link in table.select("td:first-child a")] == [f"#{module}.{name}" for name in names]
        assert all(len(line.get_text()) > 10 for line in table.select("td:last-child")), module
        for name in names:
            _, lists = described(pages, site, module, name)
            if callable(item := getattr(importlib.import_module(module), name)):
                file = local(site / "api" / "x.html", lists["Source"].a["href"])
                assert file.read_text(encoding="utf-8") == Path(inspect.getsourcefile(inspect.unwrap(item))).read_text()


def test_the_reference_leads_to_notebooks_and_to_plain_versions(site, pages):
    _, lists = described(pages, site, "bandits_lib.fixed_confidence", "rage")
    notebooks = [link["href"] for link in lists["Used in"].select("a")]
    assert "../notebooks/fiez2019_5a_benchmark.html" in notebooks and len(set(notebooks)) == len(notebooks)
    assert [link["href"] for link in lists["Plain version"].select("a")] == ["plain/rage.html"]
    plain = pages[site / "api" / "plain" / "rage.html"].select_one("article div.highlight")
    assert "def rage(" in plain.get_text() and plain.select("span.k")  # and its words are coloured


# --- pictures


def test_every_picture_exists_is_described_and_opens_in_full(pages):
    for file, soup in pages.items():
        for picture in soup.select("article img"):
            assert len(picture.get("alt", "")) > 20, f"{file.name}: {picture['src'][:80]} has no description"
            kind, _, data = picture["src"].partition(",")
            if kind == "data:image/png;base64":  # in the page, as on the start page, in its size
                assert b64decode(data, validate=True).startswith(b"\x89PNG"), f"{file.name}: no png"
                continue
            assert local(file, picture["src"]).exists(), f"{file.name} lacks {picture['src']}"
            full, of_gallery = local(file, picture.find_parent("a")["href"]), file.stem == "gallery"
            assert picture["loading"] == "lazy"
            if not of_gallery:  # whose thumbnails have boxes; elsewhere the browser leaves room before it loads them
                size = (int(picture["width"]), int(picture["height"]))
                assert size == Image.open(local(file, picture["src"])).size, picture["src"]
            assert full.suffix in ((".html",) if of_gallery else (".png", ".svg")) and full.exists(), picture["src"]


def same_as_small(figure):
    """Whether the notebook says that all rows of the figure's table equal the published ones, and has no runs."""
    return alike(nbformat.read(ROOT / "notebooks" / f"{home(figure)}.ipynb", as_version=4), figure)


def test_each_figure_is_once_at_the_papers_scale_with_data_script_parameters_and_time(site, pages):
    seen = []
    for name in NOTEBOOKS:
        file = site / "notebooks" / f"{name}.html"
        for figure in pages[file].select("figure.paper-scale, figure.papers-figure"):
            caption, link = figure.find("figcaption"), figure.find("a", class_="picture")
            saved = next(path for path in drawn() if about(path)["alt"].split() == link.img["alt"].split())
            linked = {Path(unquote(tag["href"])).suffix: local(file, tag["href"]) for tag in caption.select("a[href]")}
            assert {".csv", ".ipynb", ".json", ".pdf"} <= set(linked) and home(saved) == name
            assert site / "figures" / "README.html" in linked.values()  # what columns and keys mean
            for path in (local(file, link["href"]), linked[".csv"], linked[".json"]):
                assert path.read_bytes() == (ROOT / "figures" / f"{saved}{path.suffix}").read_bytes()
            words = caption.get_text()
            scale = "The larger run of make paper" if saved.startswith("companion/") else "At the paper's scale"
            assert scale in words and f"runs = {about(saved)['parameters']['runs']}" in words
            assert re.search(rf"\d (s|min|h), version {about(saved)['versions']['bandits_lib']}", words)
            if "paper-scale" in figure["class"] and not same_as_small(saved):
                small = figure.find_previous("figure")
                assert "small-run" in small["class"] and "Small, as on this page" in small.find("figcaption").get_text()
                assert (
                    small.img["alt"] == f"At the papers' scale: {link.img['alt']}"
                    and small.img["src"] != link.img["src"]
                )
            charted = figure.find_next_sibling()
            assert ("chart" in charted.get("class", [])) == bool(charts.html(ROOT / "figures" / f"{saved}.csv", 1)), (
                saved
            )
            seen.append(saved)
    assert sorted(seen) == sorted(drawn())


def test_a_figures_page_begins_with_its_verdicts_and_the_figure(site, pages):
    found = {name: numbered(name) for name in NOTEBOOKS}
    titles = {f"{paper}/{name}": title for paper in PAPERS for name, title in TITLES[paper].items()}
    of_papers = [figure for figure, title in titles.items() if title.startswith(("Figure", "Table"))]
    assert sorted(sum(found.values(), [])) == sorted(of_papers) and len(of_papers) > 20
    for name in filter(found.get, NOTEBOOKS):
        soup = pages[site / "notebooks" / f"{name}.html"]
        title = soup.h1.get_text()
        assert re.match(rf"{name.partition('_')[0]}, .*(Figure|Table)s? \d", title), title
        tops = [tag for tag in soup.article.h2.find_all_previous(["table", "figure"])][::-1]
        assert [tag.name for tag in tops] == ["table"] + ["figure"] * len(found[name])
        assert [head.get_text() for head in tops[0].select("th")] == ledger.BOX
        judged = ledger.sentences(claims()[claims()["id"].str.startswith(f"{name}/")])
        # a row without a quotation is a further quantity of the sentence above it
        rows = [row for row in tops[0].select("tbody tr") if row.td.get_text(strip=True)]
        assert len(rows) == len(judged) > 0
        assert soup.h1.find_next("p").get_text().startswith("What was found.")
        assert soup.article.get_text().count("What was found.") == 1
        assert all(code.find_parent("details") for code in soup.article.h2.find_all_previous("div", class_="highlight"))


def test_every_sentence_is_once_whole_with_its_numbers_in_the_order_of_its_paper(site, pages):
    for paper in PAPERS:
        soup = pages[site / "figures" / "ledger" / f"{paper}.html"]
        own = claims()[claims()["paper"] == paper]
        places = [place["id"] for place in soup.select("article p > a[id]")]
        assert sorted(places) == sorted({ledger.anchor(id) for id in own["id"]})
        items = sentences.tested().query("paper == @paper")["item"].tolist()
        heads = [head.get_text().rstrip("#¶").strip() for head in soup.select("article h2")]
        assert [head for head in heads if head != sentences.REST] == items
        for id, row in ledger.sentences(own).iterrows():
            said = soup.find(id=ledger.anchor(id)).find_parent("p").get_text()
            assert said.startswith(row["text"])
            words = row["whole"] or row["quote"]
            assert set(re.findall(r"(?<![\\\w])[a-z]{6,}", words.partition("$")[0])) <= set(re.findall(r"\w+", said)), (
                id
            )


def test_the_box_of_a_figure_leads_to_its_sentences(site, pages):
    for notebook, ids in claims().query("quote != ''")["id"].groupby(claims()["id"].str.partition("/")[0]):
        found = {
            link["href"]
            for link in pages[site / "notebooks" / f"{notebook}.html"].select("article table a[href*=ledger]")
        }
        paper = notebook.partition("_")[0]
        assert found == {f"../figures/ledger/{paper}.html#{ledger.anchor(id)}" for id in ids}


def test_words_of_the_glossary_have_their_meaning_once_on_a_page(site, pages):
    words = pages[site / "index.html"].select("article a.term")
    assert len(words) > 5 and len({word["title"] for word in words}) == len(words)
    assert all(local(site / "index.html", word["href"]) == site / "docs" / "glossary.html" for word in words)
    assert not pages[site / "docs" / "glossary.html"].select("a.term")


def test_the_gallery_shows_every_figure_small_in_order_and_in_words(site, pages):
    file = site / "figures" / "gallery.html"
    cards = pages[file].select(".gallery figure")
    alts = [card.img["alt"].split() for card in cards]
    assert sorted(alts) == sorted(about(path)["alt"].split() for path in drawn())
    shown = [next(path for path in drawn() if about(path)["alt"].split() == alt) for alt in alts]
    order = [path.partition("/")[0] for path in shown]
    assert order == sorted(order, key=(*PAPERS, "companion").index)
    titles = [card.find("figcaption").a.get_text() for card in cards]
    assert len(set(titles)) == len(titles) and not [title for title in titles if "_" in title]
    judged = [card for card in cards if ". By the text: " in card.find("figcaption").get_text()]
    numbered_titles = [title for paper in PAPERS for title in TITLES[paper].values() if re.match("Figure|Table", title)]
    assert len(judged) == len(numbered_titles) > 20
    for card, path in zip(cards, shown, strict=True):
        assert {link["href"] for link in card.select("a.reference, a:has(img)")} == {f"../notebooks/{home(path)}.html"}
        small = local(file, card.img["src"])
        assert small.stat().st_size < MEGABYTE / 15 and max(Image.open(small).size) <= 640


# --- words, formulas and links


def test_no_table_or_formula_of_markdown_is_left_raw(pages):
    for file, soup in pages.items():
        raw = re.compile(r"\|:?--+|\$[^$\s](?:[^$\n]*[^$\s])?\$")
        texts = soup.find("article").find_all(string=raw)
        left = [text for text in texts if not text.find_parent(["pre", "code", "math", "script"])]
        assert not left, f"{file.name}: {left[:3]}"


def test_formulas_are_mathml_without_leftovers(pages):
    formulas = [formula for soup in pages.values() for formula in soup.find_all("math")]
    assert len(formulas) > 100
    for formula in formulas:
        leftovers = [part.get_text() for part in formula.find_all(["mi", "mtext", "mo"]) if "\\" in part.get_text()]
        assert all(text == "\\" for text in leftovers), leftovers  # alone it is the difference of two sets


def test_links_inside_the_site_lead_somewhere(pages):
    anchors = {file: {tag["id"] for tag in soup.find_all(id=True)} for file, soup in pages.items()}
    for file, soup in pages.items():
        for link in soup.select("article a[href]"):
            path, anchor = urldefrag(link["href"])
            if path.startswith(("http:", "https:", "mailto:")):
                continue
            target = local(file, path) if path else file
            assert target.exists(), f"{file.name} links to {link['href']}"
            if anchor and target in pages:
                assert unquote(anchor) in anchors[target], f"{file.name} links to {link['href']}"


# --- sizes and requests


def loaded(file, soup):
    """What a page loads."""
    tags = soup.find_all("script", src=True) + soup.find_all("img") + soup.find_all("link", rel=["stylesheet", "icon"])
    addresses = {tag.get("src") or tag.get("href") for tag in tags}
    return {local(file, address) for address in addresses if not address.startswith("data:")}


def test_no_page_and_no_file_is_heavy(site, pages):
    for file, soup in pages.items():
        size = file.stat().st_size
        assert size < MEGABYTE, f"{file.name} has {size} bytes"
        total = size + sum(part.stat().st_size for part in loaded(file, soup))
        assert total < 3 * MEGABYTE, f"{file.name} loads {total} bytes"
    assert not [file for file in site.rglob("*") if file.stat().st_size > 3 * MEGABYTE]


def test_nothing_is_fetched_from_elsewhere(pages):
    for file, soup in pages.items():
        for name, attribute in (("script", "src"), ("link", "href"), ("img", "src")):
            for tag in soup.find_all(name, **{attribute: True}):
                inside = tag[attribute].startswith("data:") or "//" not in tag[attribute]
                assert inside or tag.get("rel") == ["canonical"], f"{file.name}: {tag}"


# --- in a browser

WIDE, NARROW = {"width": 1280, "height": 1000}, {"width": 390, "height": 844}
TOO_WIDE = "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"
BROKEN = """async () => {
  const pictures = [...document.images]
  pictures.forEach(picture => { picture.loading = "eager" })
  await Promise.allSettled(pictures.map(picture => picture.decode()))
  return pictures.filter(picture => !picture.naturalWidth).map(picture => picture.src)
}"""
OF_EVERY_KIND = ("index", "gallery", "errata", "azizi2022", "azizi2022_8_3_randomised", "verdicts")


PLACES = """([rule, x, y]) => {
  const chart = document.querySelector(".chart"), view = chart.view, pad = view.padding(), [left, top] = view.origin()
  const box = chart.querySelector("canvas").getBoundingClientRect()
  const found = (item, x, y) => {
    for (const child of item.items || []) {
      const [right, down] = [x + (child.x || 0), y + (child.y || 0)]
      if (child.text === rule && child.mark.role === "legend-label") return [right, down]
      const at = found(child, right, down)
      if (at) return at
    }
  }
  const places = [[view.scale("x")(x), view.scale("y")(y)], found(view.scenegraph().root, 2, 0)]
  return places.map(at => [box.left + pad.left + left + at[0], box.top + pad.top + top + at[1]])
}"""


def look(tab, file):
    """What is wrong with a page on screen and phone; with one of every kind, in the dark and in its colours as well."""
    closely = file.stem in OF_EVERY_KIND
    schemes = ("light", "dark") if closely else ("light",)
    tab.emulate_media(color_scheme="light")
    tab.goto(file.as_uri())
    yield from tab.evaluate(BROKEN)
    for scheme, size in product(schemes, (NARROW, WIDE)):
        tab.emulate_media(color_scheme=scheme)
        tab.set_viewport_size(size)
        if (beyond := tab.evaluate(TOO_WIDE)) > 0:
            yield f"{beyond} pixels too wide at {size['width']}"
    for scheme in schemes:
        tab.emulate_media(color_scheme=scheme)
        yield from violations(tab, contents=file.name == "index.html", colours=closely)


def test_pages_in_chromium_on_screen_and_phone(site, pages):
    """Every page, and of those that only list code, which are alike, every tenth."""
    listings = set((site / "api" / "plain").glob("*.html"))
    shown = [file for file in pages if file not in listings] + sorted(listings)[::10]
    with page() as tab:
        wrong = {file.name: found for file in shown if (found := list(look(tab, file)))}
        assert not wrong
        assert not [url for url in tab.asked if not url.startswith(("file:", "data:"))]


@pytest.mark.parametrize("width, scheme", product((1280, 390), ("light", "dark")))
def test_a_chart_answers_a_reader_who_has_a_mouse_alone(site, width, scheme):
    """How many pulls RAGE takes at d = 25 in the published program, with which interval, and which rule is best."""
    rows = pd.read_csv(ROOT / "figures" / "fiez2019" / "fig_1a.csv").query("options == 'code' and d == 25")
    row = rows.set_index("algorithm").loc["rage"]
    best = rows[rows["algorithm"] != "xy_oracle"].set_index("algorithm")["mean"].idxmin()
    with page() as tab:
        tab.set_viewport_size({"width": width, "height": 900})
        tab.emulate_media(color_scheme=scheme)
        tab.goto((site / "notebooks" / "fiez2019_5a_benchmark.html").as_uri())
        chart = tab.locator(".chart").first
        chart.scroll_into_view_if_needed()
        chart.locator("canvas").wait_for()
        chart.locator("select").select_option(label="published program")
        point, legend = tab.evaluate(PLACES, ["RAGE", 25, float(row["mean"])])
        tab.mouse.move(point[0] - 9, point[1])
        tab.mouse.move(*point)
        said = tab.locator("#vg-tooltip-element").inner_text()
        assert "RAGE" in said and "{mean:,.0f} [{low:,.0f}, {high:,.0f}]".format(**row) in said
        assert re.search(rf"fewest pulls here\s+{re.escape(style.label(best))}\b", said)
        before = chart.locator("canvas").screenshot()
        tab.mouse.click(*legend)
        tab.mouse.move(0, 0)
        assert chart.locator("canvas").screenshot() != before
        assert tab.evaluate("document.querySelector('.chart').view.data('shown_store').length") == 6
        assert tab.evaluate(TOO_WIDE) <= 0
        assert not [url for url in tab.asked if not url.startswith(("file:", "data:"))]
        tab.emulate_media(media="print")
        assert not chart.is_visible()


def test_a_picture_opens_in_full_on_a_click(site):
    with page() as tab:
        tab.goto((site / "index.html").as_uri())
        tab.click("text='All figures'")
        tab.wait_for_url("**/gallery.html")
        tab.click(".gallery figure:has-text('Figure 1a') img")
        tab.wait_for_url("**/fiez2019_5a_benchmark.html")
        tab.click("figure.papers-figure img")
        tab.wait_for_url("**/_images/fig_1a*.png")


def test_search_for_a_figure_finds_its_page_first(site):
    wanted = {
        "Figure 3 azizi2022": "azizi2022_8_3_randomised",
        "azizi2022 figure 6": "azizi2022_E3_od_linbai",
        "fiez2019 Figure 1a": "fiez2019_5a_benchmark",
        "weltz2023 figure 4": "weltz2023_5a_signal_to_noise",
        "Table 1 jedra2020": "jedra2020_5_many_arms",
        "Figure 1a of fiez2019": "fiez2019_5a_benchmark",
        "weltz2023 Figure 1c": "weltz2023_1_why_variance",
        "weltz2023 Figure 2a": "weltz2023_3_head",
        "weltz2023 Figure 2b": "weltz2023_3_head",
    }
    with page() as tab:
        for query, name in wanted.items():
            tab.goto(f"{(site / 'search.html').as_uri()}?q={quote(query)}")
            tab.wait_for_selector("#search-results li >> nth=0")
            first = tab.get_attribute("#search-results li a >> nth=0", "href")
            assert first.partition("?")[0] == f"notebooks/{name}.html", query
        tab.goto(f"{(site / 'search.html').as_uri()}?q=Theorem+5.1")
        tab.wait_for_selector("#search-results li >> nth=5")
        found = tab.evaluate("[...document.querySelectorAll('#search-results li a')].slice(0, 3).map(a => a.pathname)")
        assert any(address.endswith("errata.html") for address in found)
        html = (site / "notebooks" / "fiez2019_5a_benchmark.html").read_text(encoding="utf-8")
        assert "Show the" not in tab.evaluate("html => Search.htmlToText(html, '')", html)
