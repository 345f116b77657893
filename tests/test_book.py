"""The site is built from what is committed and reads well in a browser: pages, pictures, formulas, links."""

import importlib.util
import inspect
import json
import re
from pathlib import Path
from urllib.parse import unquote, urldefrag

import pytest
import reference
from browser import page
from bs4 import BeautifulSoup

ROOT = Path(__file__).resolve().parent.parent
NOTEBOOKS = sorted(path.stem for path in (ROOT / "notebooks").glob("*.ipynb"))

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
    files = [file for file in site.rglob("*.html") if "_static" not in file.parts]
    return {file: BeautifulSoup(file.read_text(encoding="utf-8"), "html.parser") for file in files}


def test_every_notebook_and_part_has_a_page_in_the_contents(site, pages):
    links = {link["href"] for link in pages[site / "index.html"].select(".sidebar-tree a[href]")}
    assert {f"notebooks/{name}.html" for name in NOTEBOOKS} <= links
    assert {"api.html", "figures/gallery.html", "figures/ledger.html", "figures/errata.html"} <= links
    assert {f"figures/reports/{file.stem}.html" for file in (ROOT / "notebooks" / "reports").glob("*.md")} <= links


def test_every_picture_exists_and_is_described(pages):
    for file, soup in pages.items():
        for picture in soup.select("article img"):
            assert (file.parent / unquote(picture["src"])).exists(), f"{file.name} lacks {picture['src']}"
            assert len(picture.get("alt", "")) > 20, f"{file.name}: {picture['src']} has no description"


def test_links_inside_the_site_lead_somewhere(pages):
    anchors = {file: {tag["id"] for tag in soup.find_all(id=True)} for file, soup in pages.items()}
    for file, soup in pages.items():
        for link in soup.select("article a[href]"):
            path, anchor = urldefrag(link["href"])
            if path.startswith(("http:", "https:", "mailto:")):
                continue
            target = (file.parent / unquote(path)).resolve() if path else file
            assert target.exists(), f"{file.name} links to {link['href']}"
            if anchor and target in pages:
                assert unquote(anchor) in anchors[target], f"{file.name} links to {link['href']}"


def test_nothing_is_fetched_from_elsewhere(pages):
    for file, soup in pages.items():
        for name, attribute in (("script", "src"), ("link", "href"), ("img", "src")):
            for tag in soup.find_all(name, **{attribute: True}):
                assert "//" not in tag[attribute] or tag.get("rel") == ["canonical"], f"{file.name}: {tag}"


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
            body, _ = described(pages, site, module, name)
            assert body.select_one("dt a[href^='../_modules/']"), f"{module}.{name} has no link to its source"


def test_the_reference_shows_parameters_as_lists(site, pages):
    shown = 0
    for module, names in reference.public_names().items():
        for name in names:
            body, lists = described(pages, site, module, name)
            documented = inspect.getdoc(getattr(importlib.import_module(module), name))
            assert not re.search(r"^-{3,}$", body.get_text(), re.MULTILINE), f"{module}.{name}: a heading is left over"
            if "\nParameters\n---" in documented:
                assert lists["Parameters"].select("dt strong"), f"{module}.{name}"
                shown += 1
    assert shown > 150


def test_the_reference_leads_to_notebooks_and_to_plain_versions(site, pages):
    _, lists = described(pages, site, "bandits_lib.fixed_confidence", "rage")
    notebooks = [link["href"] for link in lists["Used in"].select("a")]
    assert "../notebooks/fiez2019_5a_benchmark.html" in notebooks and len(set(notebooks)) == len(notebooks)
    assert [link["href"] for link in lists["Plain version"].select("a")] == ["plain/rage.html"]
    plain = pages[site / "api" / "plain" / "rage.html"].select_one("article div.highlight")
    assert "def rage(" in plain.get_text() and plain.select("span.k")  # and its words are coloured
    assert "Used in" not in described(pages, site, "bandits_lib.checks", "check_arms")[1]


def test_the_gallery_shows_every_figure_with_its_description(site, pages):
    sources = {Path(picture["src"]).name for picture in pages[site / "figures" / "gallery.html"].select("img")}
    for file in (ROOT / "figures").glob("*/*.json"):
        if file.with_suffix(".png").exists():
            alt = " ".join(json.loads(file.read_text(encoding="utf-8"))["alt"].split())
            assert any(file.stem in source for source in sources), file
            assert pages[site / "figures" / "gallery.html"].find("img", alt=alt), f"{file}: {alt}"


def test_formulas_are_mathml_without_leftovers(pages):
    formulas = [formula for soup in pages.values() for formula in soup.find_all("math")]
    assert len(formulas) > 100
    for formula in formulas:
        leftovers = [part.get_text() for part in formula.find_all(["mi", "mtext", "mo"]) if "\\" in part.get_text()]
        assert all(text == "\\" for text in leftovers), leftovers  # alone it is the difference of two sets


def test_chromium_shows_pages_pictures_and_follows_links(site):
    with page() as tab:
        tab.goto((site / "index.html").as_uri())
        assert "bandits_lib" in tab.title()
        tab.click("text=The ledger of claims")
        tab.wait_for_url("**/companion_ledger.html")
        assert "reproduced" in tab.inner_text("article")
        for name in NOTEBOOKS:
            tab.goto((site / "notebooks" / f"{name}.html").as_uri())
            broken = "() => [...document.images].filter(i => !(i.complete && i.naturalWidth > 0)).map(i => i.src)"
            assert tab.evaluate(broken) == [], name
            assert tab.evaluate("() => document.documentElement.scrollWidth - window.innerWidth") < 10, f"{name}: wide"
        assert not [url for url in tab.asked if not url.startswith(("file:", "data:"))]


def test_search_finds_a_word(site):
    with page() as tab:
        tab.goto((site / "search.html").as_uri() + "?q=transductive")
        tab.wait_for_selector("#search-results li >> nth=1")  # results come one by one: two of them
