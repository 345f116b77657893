"""The page of all figures: complete, in order, described, linked, and legible in a browser, without a network."""

import json
import shutil
from pathlib import Path
from urllib.parse import unquote

import nbformat
import pytest
from browser import page as browser_page
from bs4 import BeautifulSoup

from bandits_companion import charts, notebook_runs
from bandits_companion.notebook_runs import Folders

ROOT = Path(__file__).resolve().parents[2]
FIGURES, NOTEBOOKS = ROOT / "figures", ROOT / "notebooks"
DRAWN = sorted(file for file in FIGURES.glob("*/*.json") if file.with_suffix(".png").exists())
AT_SMALL = "at small parameters"


@pytest.fixture(scope="module")
def sheet(tmp_path_factory):
    """The page of the committed figures, which stand for those of a small run, too; two notebooks were executed."""
    file = tmp_path_factory.mktemp("sheet") / "index.html"
    failed, executed = {"fiez2019_3_rage": "ValueError: <no>"}, file.parent / "notebooks"
    executed.mkdir()
    for name in ("azizi2022_8_2_static", "azizi2022_8_3_randomised"):
        shutil.copy(NOTEBOOKS / f"{name}.ipynb", executed)
    notebook_runs.save(file, Folders(ROOT, executed, NOTEBOOKS, FIGURES, AT_SMALL), failed)
    return file


@pytest.fixture(scope="module")
def soup(sheet):
    return BeautifulSoup(sheet.read_text(encoding="utf-8"), "html.parser")


def test_every_figure_is_there_beside_the_one_at_the_papers_scale(soup, sheet):
    shown = {article["id"]: article for article in soup.select("article.drawn")}
    assert set(shown) == {f"{file.parent.name}/{file.stem}" for file in DRAWN}
    for file in DRAWN:
        article = shown[f"{file.parent.name}/{file.stem}"]
        pictures = article.select("img")
        of_paper = file.parent.name != "companion"  # others have no paper's scale
        assert len(pictures) == 1 + of_paper
        files = {(sheet.parent / unquote(picture["src"])).resolve() for picture in pictures}
        assert files == {file.with_suffix(".png")}
        words = " ".join(json.loads(file.read_text(encoding="utf-8"))["alt"].split())
        assert all(picture["alt"].endswith(f": {words}") for picture in pictures) and words not in article.get_text()
        assert len(article.select(".chart")) == len(pictures) * (charts.html(file.with_suffix(".csv"), 1) != "")
        links = {link.get_text() for link in article.select("figcaption a")}
        assert {"estimates", "parameters", "pdf"} <= links


def test_a_small_figure_names_every_parameter_that_was_changed(soup):
    (article,) = soup.select('article.drawn[id="azizi2022/fig_3"]')
    small, large = (caption.get_text() for caption in article.select("figcaption"))
    used = json.loads((FIGURES / "azizi2022" / "fig_3.json").read_text(encoding="utf-8"))["parameters"]
    assert f", program_runs = {used['program_runs']}" in small and "sigma2" not in small  # it is the notebook's own
    assert "program_runs" not in large and f"runs = {used['runs']}, seed = {used['seed']}" in large


def test_links_and_labels_lead_somewhere(soup, sheet):
    anchors = [tag["id"] for tag in soup.find_all(id=True)]
    assert len(anchors) == len(set(anchors))
    for link in soup.select("a[href]"):
        assert "//" not in link["href"]
        if link["href"].startswith("#"):
            assert unquote(link["href"][1:]) in anchors
        else:
            assert (sheet.parent / unquote(link["href"])).exists(), link["href"]
    assert {tag["aria-labelledby"] for tag in soup.select("[aria-labelledby]")} <= set(anchors)


def test_every_link_opens_a_page_or_a_picture_and_data_are_downloads(soup, sheet):
    kinds = {Path(link["href"]).suffix for link in soup.select("a[href]:not([download], [href^='#'])")}
    assert kinds == {".html", ".png", ".pdf"}
    assert {Path(link["href"]).suffix for link in soup.select("a[download]")} == {".csv", ".json"}
    rendered = [link["href"] for link in soup.select("a[href$='.html']")]
    assert len(rendered) == 7 and {"figures/ledger/azizi2022.html", "figures/README.html"} <= set(rendered)
    shown = {name: BeautifulSoup((sheet.parent / name).read_text(encoding="utf-8"), "html.parser") for name in rendered}
    assert all(len(page.select("table")) > 1 for page in shown.values())
    across = shown["notebooks/azizi2022_8_3_randomised.html"].select_one("a[href*='8_2_static'], a[href*='8_1_']")
    assert across["href"].endswith(".html")
    assert "figures/ledger/azizi2022.html#" in str(shown["notebooks/azizi2022_8_3_randomised.html"])


def test_every_link_of_a_rendered_page_leads_to_a_page_or_a_file_of_the_project(sheet):
    names = {"azizi2022_8_2_static", "azizi2022_8_3_randomised"}  # the notebooks that were executed
    rendered = [file for file in sorted(sheet.parent.rglob("*.html")) if file != sheet]
    assert {"docs/glossary.html", "notebooks/azizi2022_8_2_static.html", "figures/reports/azizi2022.html"} <= {
        file.relative_to(sheet.parent).as_posix() for file in rendered
    }
    for file in rendered:
        for link in BeautifulSoup(file.read_text(encoding="utf-8"), "html.parser").select("a[href]"):
            address = unquote(link["href"]).partition("#")[0]
            to = (file.parent / address).resolve()
            if not address or "//" in address or (to.parent.name == "notebooks" and to.stem not in names):
                continue
            assert to.exists(), f"{file.name}: {address}"


def test_a_rendered_notebook_can_be_scrolled_by_keys_and_its_pictures_have_words(sheet):
    text = (sheet.parent / "notebooks" / "azizi2022_8_3_randomised.html").read_text(encoding="utf-8")
    page = BeautifulSoup(text, "html.parser")
    pictures, boxes = page.select("img"), page.select("div.jp-Cell-inputWrapper, div.jp-OutputArea-output")
    assert pictures and all(picture.get("alt") for picture in pictures)
    assert boxes and {box.get("tabindex") for box in boxes} == {"0"}


def test_a_server_of_its_folder_finds_the_published_figures(soup, sheet):
    """Above the root of a server there is nothing: `../figures` would be the small figures in the page's folder."""
    for figure in soup.select(".pair .picture:nth-of-type(2)"):
        for address in [figure.img["src"], *(link["href"] for link in figure.select("a[href]"))]:
            assert address.startswith("published/")
            assert (sheet.parent / unquote(address)).resolve().is_relative_to(FIGURES)


def test_papers_notebooks_and_figures_stand_in_order(soup):
    assert [heading.get_text() for heading in soup.select("main h2")] == list(notebook_runs.PARTS.values())
    names = [heading["id"] for heading in soup.select("main h3")]
    assert [name for name in names if name.startswith("fiez2019_")] == sorted(
        file.stem for file in NOTEBOOKS.glob("fiez2019_*.ipynb")
    )
    ids = [article["id"] for article in soup.select("article.drawn")]
    assert ids.index("weltz2023/fig_1ab") < ids.index("weltz2023/fig_1c") < ids.index("weltz2023/fig_2a")
    levels = [int(heading.name[1]) for heading in soup.select("h1, h2, h3, h4")]
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(after - before <= 1 for before, after in zip(levels, levels[1:], strict=False))


def test_a_failed_notebook_is_named_and_its_error_is_text(soup):
    assert soup.select_one("section.failed li").get_text() == "fiez2019_3_rage: ValueError: <no>"
    assert "may be older" in soup.find(id="fiez2019_3_rage").find_parent("section").get_text()


def test_every_picture_has_words_and_room(soup):
    alts = [picture["alt"] for picture in soup.select("img")]
    assert len(set(alts)) >= len(DRAWN) and all(len(alt) > 20 for alt in alts)
    assert all(picture["loading"] == "lazy" and int(picture["width"]) > 100 for picture in soup.select("img"))
    assert soup.html["lang"] == "en" and soup.select_one("main") and soup.select_one("nav")["aria-label"]
    labels = [link["aria-label"] for link in soup.select("figcaption a")]
    assert len(labels) == len(soup.select("figcaption a[href]"))


def test_figures_of_a_notebook_stand_as_it_saves_them_also_of_ones_own(tmp_path):
    """A notebook that belongs to no paper, run where nothing lies beside, and its words with markup."""
    cells = [nbformat.v4.new_markdown_cell("# My rule & yours"), nbformat.v4.new_code_cell("'mine/z', \"mine/a\"")]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), tmp_path / "mine2024_1.ipynb")
    png = (FIGURES / "fiez2019" / "fig_1a.png").read_bytes()
    (tmp_path / "figures" / "mine").mkdir(parents=True)
    for name in ("a", "z"):
        about = {"command": "papermill notebooks/mine2024_1.ipynb", "parameters": {"runs": 3, "seed": 0}}
        (tmp_path / "figures" / "mine" / f"{name}.json").write_text(json.dumps(about | {"alt": f"{name} < b"}))
        (tmp_path / "figures" / "mine" / f"{name}.png").write_bytes(png)
    assert notebook_runs.save(tmp_path / "index.html", Folders(tmp_path, tmp_path, tmp_path, None, AT_SMALL)) == 2
    soup = BeautifulSoup((tmp_path / "index.html").read_text(encoding="utf-8"), "html.parser")
    assert [picture["alt"].rpartition(": ")[2] for picture in soup.select("article img")] == ["z < b", "a < b"]
    assert soup.h2.get_text() == "mine2024" and soup.h3.get_text() == "My rule & yours"
    assert "papers' scale" not in soup.get_text()


CONTRAST = """() => {
    const channels = text => text.match(/[\\d.]+/g).slice(0, 3).map(Number).map(part => {
        part /= 255; return part <= .03928 ? part / 12.92 : ((part + .055) / 1.055) ** 2.4 });
    const light = text => channels(text).reduce((sum, part, k) => sum + part * [.2126, .7152, .0722][k], 0);
    const ground = tag => { while (tag) {
        const colour = getComputedStyle(tag).backgroundColor;
        if (colour !== "rgba(0, 0, 0, 0)") return colour;
        tag = tag.parentElement; } };
    return [...document.querySelectorAll("h1, h2, h3, h4, p, a, li, figcaption, code")].map(tag => {
        const pair = [light(getComputedStyle(tag).color), light(ground(tag))].sort((a, b) => b - a);
        return (pair[0] + .05) / (pair[1] + .05); }); }"""
LOADED = """async () => {
    const pictures = [...document.images];
    pictures.forEach(picture => picture.loading = "eager");
    await Promise.all(pictures.map(picture => picture.decode()));
    return pictures.every(picture => picture.naturalWidth > 0); }"""


@pytest.mark.slow
def test_it_reads_well_on_any_screen_without_a_network(sheet):
    with browser_page() as tab:
        for scheme in ("light", "dark"):
            tab.emulate_media(color_scheme=scheme)
            tab.goto(sheet.as_uri())
            assert tab.evaluate(LOADED)
            assert min(tab.evaluate(CONTRAST)) >= 4.5, scheme
            for width in (1280, 390):
                tab.set_viewport_size({"width": width, "height": 900})
                assert tab.evaluate("document.documentElement.scrollWidth") <= width
                side_by_side = tab.evaluate(
                    "[...document.querySelector('.pair').children].map(t => t.getBoundingClientRect().top)"
                )
                assert (len(set(side_by_side)) == 1) == (width == 1280)
        assert all(address.startswith(("file:", "data:")) for address in tab.asked)
