"""Chromium, and what a person does on the labelling page."""

import os
import re
import shutil
from contextlib import contextmanager

from waiting import PATIENCE

CHROMIUM = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
MISSING = "there is no Chromium: apt-get install chromium, or set SEMISVM_CHROMIUM to its path"
OPTIONS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)


def chromium():
    """Return the path of a browser that is on this machine, or None."""
    named = os.environ.get("SEMISVM_CHROMIUM")
    return shutil.which(named) if named else next(filter(None, map(shutil.which, CHROMIUM)), None)


@contextmanager
def launched():
    """Run the browser of this machine; nothing is downloaded."""
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=1000 * PATIENCE)
    with sync_playwright() as play:
        browser = play.chromium.launch(
            executable_path=chromium(), args=list(OPTIONS), timeout=1000 * PATIENCE
        )
        yield browser
        browser.close()


class Person:
    """A user at a page: looks at it, presses keys, and waits for what it shows.

    Parameters
    ----------
    context : playwright context
    address : str or None
        With the token; None for a page that is open already.
    page : playwright page, optional
    """

    def __init__(self, context, address, page=None):
        self.problems = []
        self.requested = []
        self.page = context.new_page() if page is None else page
        self.page.set_default_timeout(1000 * PATIENCE)
        self.page.on("console", lambda m: m.type == "error" and self.problems.append(m.text))
        self.page.on("pageerror", lambda error: self.problems.append(str(error)))
        self.page.on("dialog", lambda dialog: self.problems.append(dialog.message))
        self.page.on("request", lambda request: self.requested.append(request.url))
        if address is None:
            self.settled()
        else:
            self.open(address)

    def duplicate(self):
        """Open the same page in another tab, which takes along what this tab keeps."""
        context = self.page.context
        with context.expect_page() as waiting:
            self.page.evaluate("() => void window.open(location.href)")
        return Person(context, None, waiting.value)

    def open(self, address):
        self.page.goto(address)
        self.settled()

    def settled(self):
        """Wait until the page has its first row."""
        self.page.wait_for_selector("#state.good", state="attached")

    def reload(self):
        self.page.reload()
        self.settled()

    def text(self, selector):
        return self.page.inner_text(selector)

    @property
    def key(self):
        """The row that is shown, by its number on the page."""
        return self.text("#row-name").removeprefix("Row ")

    def press(self, key):
        self.page.keyboard.press(key)

    def press_and_wait(self, key):
        """Press a key and wait for the next row."""
        before = self.key
        self.press(key)
        self.page.wait_for_function(
            "before => document.getElementById('row-name').textContent !== before",
            arg=f"Row {before}",
        )
        return before

    def until(self, selector, pattern):
        """Wait until an element shows a text."""
        from playwright.sync_api import expect

        expect(self.page.locator(selector)).to_have_text(re.compile(pattern))

    def tab(self, name):
        self.page.click(f"#tab-{name}")
        self.page.wait_for_selector(f"#panel-{name}:not([hidden])")
