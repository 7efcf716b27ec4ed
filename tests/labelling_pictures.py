"""Pictures of the labelling page for the guide: ``make docs`` takes them anew.

Somebody labels invented mail in a browser, as in the tests of the page. Pictures that look as
before stay as they are, whatever their bytes are: those depend on the browser and its fonts. Where
there is no Chromium, all stay. ``python tests/labelling_pictures.py FOLDER --states`` takes those
of all states of the page, in several sizes and colours, to be looked at.
"""

import sys
import tempfile
from io import BytesIO
from pathlib import Path

import numpy as np

from browsing import MISSING, Person, chromium, launched
from fake_session import FakeSession
from invented_mail import write_mail
from page_states import STATES, show
from semisvm.labelling import LabelingSession
from semisvm.labelling.server import PageServer
from semisvm.labelling.web import Places

TILE, VISIBLE = 16, 6.0
"""Pixels of a side, and the mean difference of a tile, of 255, that can be seen."""
N_ANSWERS = 80
EVERY = 5
KEYS = {"spam": "1", "ham": "2"}
WIDE, NARROW = {"width": 1180, "height": 790}, {"width": 390, "height": 790}
PICTURES = {
    "light": {"viewport": WIDE, "color_scheme": "light"},
    "dark": {"viewport": WIDE, "color_scheme": "dark"},
    "narrow": {"viewport": NARROW, "color_scheme": "light"},
}
LOOKS = {
    "1200": {"viewport": {"width": 1200, "height": 850}},
    "400": {"viewport": {"width": 400, "height": 850}},
    "2000": {"viewport": {"width": 2000, "height": 1100}},
    "dark": {"viewport": {"width": 1200, "height": 850}, "color_scheme": "dark"},
    "contrast": {"viewport": {"width": 1200, "height": 850}, "forced_colors": "active"},
}


def label(session, kinds):
    """Give the true answers; fits are not left to chance, so that pictures are the same."""
    for number in range(N_ANSWERS):
        if number % EVERY == 0:
            session.fit()
        row = session.ask().row
        session.answer(row, kinds[row])
    session.fit()


def take(person, path, kinds):
    """Answer by keyboard, and take a picture with the guess of the next row."""
    person.press_and_wait(KEYS[kinds[int(person.key) - 1]])
    person.press("g")
    person.until("#guess", "The model predicts")
    write(person.page.screenshot(), path)


def write(content, path):
    """Write a picture if it does not look like the one that is there.

    It has few colours: a quarter of the size, and no difference to be seen.
    """
    from PIL import Image

    with Image.open(BytesIO(content)) as picture:
        few = picture.convert("RGB").quantize(96, dither=Image.Dither.NONE)
    if not path.exists() or differ(few, path):
        few.save(path, optimize=True)


def differ(picture, path):
    """Tell whether some part of a picture looks different from the one in a file."""
    from PIL import Image

    with Image.open(path) as other:
        new, old = (np.asarray(one.convert("RGB"), dtype=float) for one in (picture, other))
    if new.shape != old.shape:
        return True
    height, width = (size // TILE * TILE for size in new.shape[:2])
    tiles = np.abs(new - old).mean(axis=2)[:height, :width]
    tiles = tiles.reshape(height // TILE, TILE, width // TILE, TILE).mean(axis=(1, 3))
    return bool(tiles.max() > VISIBLE)


def main(out):
    if chromium() is None:
        print(f"pictures of the labelling page stay as they are: {MISSING}", file=sys.stderr)
        return
    with tempfile.TemporaryDirectory() as folder, launched() as browser:
        table = Path(folder) / "mail.csv"
        kinds = write_mail(table)
        options = {"label": "kind", "classes": list(KEYS), "background": False}
        places = Places("mail.csv", Path(folder) / "mail.semisvm")
        with (
            LabelingSession.open(table, **options) as session,
            PageServer(session, places=places) as server,
        ):
            label(session, kinds)
            for name, set_direction in PICTURES.items():
                context = browser.new_context(**set_direction)
                context.add_init_script("localStorage.setItem('semisvm-after', 'yes')")
                person = Person(context, server.address)
                take(person, out / f"labelling-{name}.png", kinds)
                context.close()


def take_states(out):
    out.mkdir(parents=True, exist_ok=True)
    with launched() as browser:
        for look, options in LOOKS.items():
            for state in STATES:
                session = FakeSession([f"text {k}" for k in range(30)])
                with PageServer(session) as server:
                    person = Person(browser.new_context(**options), server.address)
                    show(state, session, person)
                    person.page.screenshot(path=out / f"{state}-{look}.png")
                    person.page.context.close()


if __name__ == "__main__":
    (take_states if "--states" in sys.argv else main)(Path(sys.argv[1]))
