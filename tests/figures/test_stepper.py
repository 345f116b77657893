"""The stepper shows one picture at a time where style is kept, and all of them where it is not."""

import re

import matplotlib.pyplot as plt
import pytest
from browser import page
from bs4 import BeautifulSoup

from bandits_lib.figures.display import Step, Stepper, png


def steps(count=3):
    found = []
    for k in range(1, count + 1):
        fig, ax = plt.subplots(figsize=(2, 1))
        ax.plot([0, k])
        found.append(Step(f"phase {k}", png(fig), f"a line up to {k}", f"Up to {k}, <b> & more."))
    return found


def test_the_same_pictures_are_the_same_text_and_others_have_other_ids():
    one, again, other = (Stepper("lines", chosen)._repr_html_() for chosen in (steps(), steps(), steps(2)))
    assert one == again
    own = [re.search(r'id="([\w-]+)"', text)[1] for text in (one, other)]
    assert own[0] != own[1] and own[1] not in one


def test_every_picture_has_a_button_with_a_name_and_words_of_its_own():
    soup = BeautifulSoup(Stepper("lines & more", steps())._repr_html_(), "html.parser")
    assert soup.legend.get_text() == "lines & more"
    labels = {label["for"]: label.get_text() for label in soup.find_all("label")}
    assert [labels[radio["id"]] for radio in soup.find_all("input")] == ["phase 1", "phase 2", "phase 3"]
    assert [radio.has_attr("checked") for radio in soup.find_all("input")] == [True, False, False]
    assert [picture["alt"] for picture in soup.find_all("img")] == [f"a line up to {k}" for k in (1, 2, 3)]
    assert [text.get_text() for text in soup.find_all("figcaption")] == [f"Up to {k}, <b> & more." for k in (1, 2, 3)]


def test_nothing_runs_and_nothing_is_fetched():
    text = Stepper("lines", steps())._repr_html_()
    soup = BeautifulSoup(text, "html.parser")
    assert not soup.find_all(["script", "link", "iframe"]) and not re.search(r"\bon\w+=|url\(|@import|http", text)
    assert all(picture["src"].startswith("data:image/png;base64,") for picture in soup.find_all("img"))


@pytest.mark.parametrize("chosen", [[], steps(1) * 2], ids=["none", "one name twice"])
def test_steps_without_a_name_of_their_own_are_refused(chosen):
    with pytest.raises(ValueError, match="distinct names"):
        Stepper("lines", chosen)


def test_a_picture_has_no_date():
    first, second = steps(1)[0].png, steps(1)[0].png
    assert first == second and b"Software" not in first
    assert not plt.get_fignums(), "the figure is closed"


def visible(tab):
    return [k for k, picture in enumerate(tab.locator("figure").all(), start=1) if picture.is_visible()]


@pytest.mark.slow
def test_chromium_steps_with_mouse_and_keys():
    with page() as tab:
        tab.set_content(Stepper("lines", steps())._repr_html_())
        assert visible(tab) == [1]
        tab.get_by_text("phase 3", exact=True).click()
        assert visible(tab) == [3]
        tab.keyboard.press("ArrowLeft")
        assert visible(tab) == [2]
        before = tab.locator("fieldset").screenshot()
        tab.keyboard.press("ArrowLeft")
        assert visible(tab) == [1] and tab.locator("fieldset").screenshot() != before
        tab.emulate_media(media="print")
        assert visible(tab) == [1, 2, 3]


@pytest.mark.slow
def test_two_steppers_in_one_page_do_not_move_each_other():
    with page() as tab:
        tab.set_content(Stepper("lines", steps())._repr_html_() + Stepper("others", steps(2))._repr_html_())
        tab.get_by_role("group", name="others").get_by_text("phase 2").click()
        assert visible(tab) == [1, 5]


@pytest.mark.slow
def test_chromium_shows_all_pictures_where_style_is_taken_away():
    text = re.sub(r"<style>.*?</style>|<input[^>]*>", "", Stepper("lines", steps())._repr_html_(), flags=re.DOTALL)
    with page() as tab:
        tab.set_content(text)
        assert visible(tab) == [1, 2, 3]
