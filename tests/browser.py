"""A real browser for the tests that need one: Chromium or Chrome where they usually are, or playwright's own."""

import contextlib
import shutil
from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright

OPTIONS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"]
OPTIONS += ["--disable-background-networking", "--disable-component-update", "--disable-sync"]
COMMANDS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
APPLICATIONS = [
    f"{folder}/{name}.app/Contents/MacOS/{name}"
    for folder in ("/Applications", Path.home() / "Applications")
    for name in ("Google Chrome", "Chromium")
]
LIMIT = 900  # seconds: a slow machine is no failure, a state that never comes is
NONE = "no browser here: install Chromium or Chrome (Debian's package `chromium`), or run `playwright install chromium`"


def installed():
    """The path of a Chromium or Chrome of this system, or None."""
    found = [path for command in COMMANDS if (path := shutil.which(command))]
    return next(iter(found + [path for path in APPLICATIONS if Path(path).exists()]), None)


def launch(chromium):
    """A browser: this system's, else the one that `playwright install` fetched; without either the test is skipped."""
    path = installed()
    if path is None and not Path(chromium.executable_path).exists():
        pytest.skip(NONE)
    return chromium.launch(executable_path=path or chromium.executable_path, args=OPTIONS, timeout=1000 * LIMIT)


@contextlib.contextmanager
def page():
    """A page of a fresh browser that may not leave this machine and waits long; `asked` holds what it requested."""
    with sync_playwright() as playwright:
        browser = launch(playwright.chromium)
        tab = browser.new_page(viewport={"width": 1300, "height": 1000})
        tab.set_default_timeout(1000 * LIMIT)
        asked = []
        tab.on("request", lambda request: asked.append(request.url))
        tab.asked = asked
        yield tab
        browser.close()
