"""Control characters are shown, never obeyed."""

import json
import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from semisvm.text import visible, visible_json

BIDI = "\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
UNFIT = [*map(chr, range(0x20)), *map(chr, range(0x7F, 0xA0)), *BIDI, "\ud800", "\udfff"]


def test_all_of_them_are_written_out():
    for sign in UNFIT:
        shown = visible(f"a{sign}b")
        assert shown.isprintable()
        assert shown.startswith("a\\")
        assert shown.endswith("b")
    assert visible("\x1b[2J\x9b1m\x07\n\u202e") == r"\x1b[2J\x9b1m\x07\n\u202e"


def test_other_text_stays():
    text = "Größe 大小 حجم 🙂 [red]x[/red] \\x1b"
    assert visible(text) == text


@given(st.text(st.one_of(st.characters(), st.sampled_from(UNFIT))))
def test_nothing_slips_through(text):
    assert not any(unicodedata.category(sign) in ("Cc", "Cs") for sign in visible(text))
    assert not set(BIDI) & set(visible(text))


@given(st.text(st.one_of(st.characters(), st.sampled_from(UNFIT))))
def test_json_has_the_same_escapes(text):
    shown = visible_json(json.dumps({text: [text]}, ensure_ascii=False))
    assert json.loads(shown) == {text: [text]}
    assert not set(UNFIT) & set(shown)
