"""Pictures of the labelling page for the guide: ``make docs`` takes them anew.

Somebody labels invented mail in a browser, as in the tests of the page. Where there is no
Chromium, the pictures stay as they are.
"""

import sys
import tempfile
from pathlib import Path

from browsing import MISSING, Person, chromium, launched
from invented_mail import write_mail
from semisvm.labelling import Sitting
from semisvm.labelling.server import PageServer
from semisvm.labelling.web import Places

N_ANSWERS = 80
EVERY = 5
KEYS = {"spam": "1", "ham": "2"}
WIDE, NARROW = {"width": 1180, "height": 790}, {"width": 390, "height": 790}
PICTURES = {
    "light": {"viewport": WIDE, "color_scheme": "light"},
    "dark": {"viewport": WIDE, "color_scheme": "dark"},
    "narrow": {"viewport": NARROW, "color_scheme": "light"},
}


def label(sitting, kinds):
    """Answer as somebody who knows; fits are not left to chance, so that pictures are the same."""
    for number in range(N_ANSWERS):
        if number % EVERY == 0:
            sitting.fit()
        row = sitting.ask().row
        sitting.answer(row, kinds[row])
    sitting.fit()


def take(person, path, kinds):
    """Answer by keyboard, and take a picture with the guess of the next row."""
    person.press_and_wait(KEYS[kinds[int(person.key) - 1]])
    person.press("g")
    person.until("#guess", "The model says")
    # a fit takes another time on every machine
    person.page.evaluate(
        "() => { const said = document.getElementById('model');"
        " said.textContent = said.textContent.replace(/, [0-9.]+ s/, ', 0.2 s'); }"
    )
    person.page.screenshot(path=path)
    shrink(path)


def shrink(path):
    """Keep few colours: a quarter of the size, and no difference to be seen."""
    from PIL import Image

    with Image.open(path) as picture:
        few = picture.convert("RGB").quantize(96, dither=Image.Dither.NONE)
    few.save(path, optimize=True)


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
            Sitting.open(table, **options) as sitting,
            PageServer(sitting, places=places) as server,
        ):
            label(sitting, kinds)
            for name, look in PICTURES.items():
                context = browser.new_context(**look)
                context.add_init_script("localStorage.setItem('semisvm-after', 'yes')")
                person = Person(context, server.address)
                take(person, out / f"labelling-{name}.png", kinds)
                context.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
