"""Text as people paste it -> text as the model was trained on, without touching what it means. Always on.

Plain characters (`characters`), no Markdown marks (`markdown`), one line, single spaces. Emoji are dropped, and so are
Markdown's marks; the words they mark are spoken. [Tags] and {phonemes} stay: they are the model's own markup. So is a
"(description)" before the text, which designs the voice; `split_control` and `compose` know its form.
"""

from __future__ import annotations

import re
import unicodedata

from voxcli.text.characters import is_plain, plain_characters
from voxcli.text.markdown import strip_markdown
from voxcli.text.scripts import CJK

__all__ = [
    "MAX_DESCRIPTION",
    "clean",
    "compose",
    "describe",
    "finish",
    "is_speakable",
    "split_control",
]

MAX_DESCRIPTION = 1_000  # characters: every piece of a text repeats its description
_PASSES = 10
_ALNUM = re.compile(r"[^\W_]")
_PARAGRAPH = re.compile(r"\n\s*\n")
_CJK_LINE_END = re.compile(rf"(?<=[{CJK}])[ ]*\n[ ]*(?=[{CJK}])")

_OPEN, _CLOSE = "(\uff08", ")\uff09"
_BRACKETS = re.compile(r"[()\uff08\uff09]+")
_GAP_BEFORE_MARK = re.compile(r" (?=[,.;:!?\uff0c\u3001\uff1b])")
_IS_CJK = re.compile(f"[{CJK}]")
_OUTER_BRACKETS = {"[": "]", "\u3010": "\u3011", "{": "}", "\u300c": "\u300d", '"': '"', "'": "'"}

_MARKS = frozenset(
    ".!?,;:-\u2026\u2014\u3002\uff01\uff1f\uff0c\uff1b\uff1a\u3001\uff0e\uff61\u0964\u0965\u06d4\u061f\u060c\u061b\u104a\u104b\u17d4\u17d5\u0589"
)
_CLOSERS = "\"')]}\u2019\u201d\u00bb\u203a\u300b\u300d\u300f\u3011\uff09\uff3d\uff5d"
_FULL_STOPS = {
    "CJK": "\u3002",
    "HIRAGANA": "\u3002",
    "KATAKANA": "\u3002",
    "DEVANAGARI": "\u0964",
    "MYANMAR": "\u104b",
    "KHMER": "\u17d4",
}


def clean(text: str, *, paragraphs: bool = False) -> str:
    """Return `text` on one line, ready for the tokenizer. Never raises; cleaning twice changes nothing.

    paragraphs: keep blank lines, each as one "\\n\\n", for `split` to end a piece there. Only for text about to be
                split: what goes to the tokenizer has no line breaks.
    """
    # Taking one thing away can uncover another ("# - item", nested links), so it is done until nothing changes; the
    # bound only matters for text made to hurt.
    for _ in range(_PASSES):
        if is_plain(text):
            break
        before, text = text, _clean_once(text, paragraphs)
        if text == before:
            break
    return text


def _clean_once(text: str, paragraphs: bool) -> str:
    text = strip_markdown(plain_characters(text))
    parts = _PARAGRAPH.split(text) if paragraphs else [text]
    # A line of Chinese or Japanese goes on in the next without a space.
    parts = [" ".join(_CJK_LINE_END.sub("", part).split()) for part in parts]
    return unicodedata.normalize("NFC", "\n\n".join(part for part in parts if part))


def is_speakable(text: str) -> bool:
    """Whether there is a letter or digit, of any script, outside a leading "(description)"."""
    body = split_control(text)[1]
    return bool(_ALNUM.search(body)) or any(unicodedata.category(char)[0] in "LN" for char in body)


def finish(text: str) -> str:
    """Return `text` ending in a mark: a full stop of its script is added when there is none.

    For synthesis only: models run on after text without an end. A comma or dash counts as a mark, as pieces of a split
    sentence end so and must not sound final.
    """
    text = text.rstrip()
    core = text.rstrip(_CLOSERS + " ")
    if not core or core[-1] in _MARKS:
        return text
    last_letter = next((char for char in reversed(core) if char.isalpha()), "")
    script = unicodedata.name(last_letter, "").split(" ")[0] if last_letter else ""
    return text + _FULL_STOPS.get(script, ".")


def split_control(text: str) -> tuple[str, str]:
    """Take "(description)text" apart: ("description", "text"), or ("", text) when it does not start with a description.

    Full-width brackets, nested ones and a gap after them are understood. A description has two letters at least, or
    one of a script that writes words so ("(2) Second point" has none), and at most MAX_DESCRIPTION characters.
    """
    start = text.lstrip()
    if not start or start[0] not in _OPEN:
        return "", text
    depth = 0
    for position, char in enumerate(start[: MAX_DESCRIPTION + 2]):
        depth += (char in _OPEN) - (char in _CLOSE)
        if depth == 0:
            description = _description(start[1:position])
            return (description, start[position + 1 :].lstrip()) if description else ("", text)
    return "", text


def compose(text: str, control: str | None) -> str:
    """Return "(description)text" in the one form the model knows, whatever brackets and gaps were given."""
    description, body = describe(text, control)
    return f"({description}){body}" if description else body


def describe(text: str, control: str | None) -> tuple[str, str]:
    """The description of a voice, empty when there is none, and the text without one.

    A description that `text` starts with already is kept; one in `control` goes before it.
    """
    own, body = split_control(text)
    given = _description(clean(control)) if control else ""
    comma = "\uff0c" if _IS_CJK.match(given[-1:]) else ", "
    return comma.join(dict.fromkeys(part for part in (given, own) if part)), body


def _description(inside: str) -> str:
    """`inside` without brackets and gaps around its parts; empty when it is no description."""
    inside = " ".join(_BRACKETS.sub(" ", _without_outer_brackets(inside)).split())
    inside = _GAP_BEFORE_MARK.sub("", inside)
    letters = [char for char in inside if char.isalpha()]
    return inside if len(letters) > 1 or any(map(_IS_CJK.match, letters)) else ""


def _without_outer_brackets(inside: str) -> str:
    start, end = 0, len(inside)
    while True:
        while start < end and inside[start].isspace():
            start += 1
        while start < end and inside[end - 1].isspace():
            end -= 1
        if end - start < 2 or _OUTER_BRACKETS.get(inside[start]) != inside[end - 1]:
            return inside[start:end]
        start, end = start + 1, end - 1
