"""A real Chromium for the tests that need one, as Debian packages it."""

import contextlib
import shutil

import pytest

OPTIONS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"]
OPTIONS += ["--disable-background-networking", "--disable-component-update", "--disable-sync"]


@contextlib.contextmanager
def page():
    """A page of a fresh browser that may not leave this machine; the test is skipped where there is no Chromium."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        pytest.skip("no Chromium here: install Debian's package `chromium` to open pages in a browser")
    sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=OPTIONS)
        tab = browser.new_page(viewport={"width": 1300, "height": 1000})
        asked = []
        tab.on("request", lambda request: asked.append(request.url))
        tab.asked = asked
        yield tab
        browser.close()
