"""Turn pasted text into text like that the model was trained on, without changing its meaning. Always on.

Characters become plain (`characters`), pauses become one kind of mark, other markup is removed (`markup`, `markdown`),
note marks are removed (`notemarks`), words broken at a line end are joined (`lines`), spaces become single. Emoji are
dropped; words inside Markdown are kept. [Tags] and {phonemes} stay, because they are the model's own markup. So does a
"(description)" before the text, which designs the voice: see `description`.
"""

from __future__ import annotations

import re
import unicodedata

from voxcli.text.characters import is_plain, plain_characters, plain_line_breaks
from voxcli.text.description import split_control
from voxcli.text.endings import PRIVATE, finish, written
from voxcli.text.lines import mark_line_ends, mark_scenes
from voxcli.text.markdown import strip_markdown
from voxcli.text.markup import TextNotes, read_markup
from voxcli.text.notemarks import drop_note_marks
from voxcli.text.scripts import CJK

__all__ = ["clean", "finish", "is_speakable", "read_text", "split_control"]

_PASSES = 10
_ALNUM = re.compile(r"[^\W_]")
_PARAGRAPH = re.compile(r"\n\s*\n")
_CJK_LINE_END = re.compile(rf"(?<=[{CJK}])[ ]*\n[ ]*(?=[{CJK}])")
_SOFT_HYPHEN = re.compile("[\u00ad\u00ac][ \\t]*\\n[ \\t]*")


def clean(text: str, *, paragraphs: bool = False) -> str:
    """Return `text` on one line, ready for the tokenizer. Never raises. Cleaning a clean text changes nothing.

    paragraphs: keep blank lines, each as one "\\n\\n".
    """
    text = read_text(text)
    parts = text.split("\n\n") if paragraphs else [text]
    return "\n\n".join(filter(None, map(written, parts)))


def read_text(text: str, notes: TextNotes | None = None) -> str:
    """Return clean `text` with paragraphs, scene breaks and audible line ends marked: see `endings`.

    notes: collects what was left out.
    """
    if is_plain(text):
        return text
    notes = TextNotes() if notes is None else notes
    text = mark_scenes(_SOFT_HYPHEN.sub("", plain_line_breaks(PRIVATE.sub("", text))))
    text = plain_characters(text)
    if is_plain(text):  # as most prose is, once its quotes and dashes are plain
        return text
    text = mark_line_ends(read_markup(text, notes))
    # Removing one construct can uncover another ("# - item", nested links), so repeat until nothing changes. Only
    # hostile text reaches the limit.
    for _ in range(_PASSES):
        before, text = text, _clean_once(text, notes)
        if text == before or is_plain(text):
            break
    return text


def _clean_once(text: str, notes: TextNotes) -> str:
    text, note_marks = drop_note_marks(read_markup(plain_characters(text), notes))
    notes.note_marks += note_marks
    # Lines of Chinese or Japanese are joined without a space.
    parts = [" ".join(_CJK_LINE_END.sub("", part).split()) for part in _PARAGRAPH.split(strip_markdown(text))]
    return unicodedata.normalize("NFC", "\n\n".join(part for part in parts if part))


def is_speakable(text: str) -> bool:
    """Return whether `text` has a letter or digit of any script."""
    return bool(_ALNUM.search(text)) or any(unicodedata.category(char)[0] in "LN" for char in text)
