"""Text made to hurt: every step stays linear. A quadratic one would take minutes here."""

import time

import pytest

from voxcli.text.clean import clean, compose, finish, is_speakable, split_control
from voxcli.text.split import split

SIZE = 60_000


MARKS = [
    "a",
    "a ",
    ".",
    " .",
    "\u597d",
    "\u4e00\n",
    "\u2014 ",
    "\u200d",
    "\u0301",
    "\n",
    "1. ",
    "www.",
    "a@",
    "-",
    "- ",
    "#",
]
MARKUP = [
    "[",
    "](a/b)",
    "[a](b/c)",
    "{",
    "(",
    "()",
    "<b>",
    "<a b=",
    "<!--",
    "<!---->",
    "*a",
    "**a ",
    "_a",
    "~~a ",
    "`",
    '"',
    "|",
]


@pytest.mark.parametrize("unit", [*MARKS, *MARKUP])
def test_long_repetitions(unit: str) -> None:
    text = unit * (SIZE // len(unit))
    start = time.process_time()
    cleaned = clean(text)
    split(text, 50)
    split_control(text)
    compose(text, text)
    finish(cleaned)
    is_speakable(text)
    assert time.process_time() - start < 5
