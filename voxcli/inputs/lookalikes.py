"""Text that nobody wrote to be spoken, recognized by how its beginning looks: refused, or read as what it is."""

from __future__ import annotations

import re
from collections.abc import Iterator

from voxcli.inputs import refusals
from voxcli.inputs.beginning import Beginning
from voxcli.inputs.markups import marked_up
from voxcli.inputs.signatures import Refusal
from voxcli.inputs.structured import structured
from voxcli.inputs.timed import timed

_HEADER = re.compile(r"([A-Za-z\u00c0-\u00ff][\w-]{0,40}):(?:[ \t]|$)")
_MAIL_HEADERS = frozenset(
    {"from", "to", "cc", "bcc", "sent", "date", "subject", "message-id", "received", "return-path", "content-type"}
    | {"von", "an", "gesendet", "datum", "betreff", "de", "\u00e0", "envoy\u00e9", "objet", "para", "asunto"}
)
_SENDERS = frozenset({"from", "von", "de"})
_RULE = re.compile(r"(?=.*--)(?=.*[+|])[-+|=: \t]{5,}")
_START = (
    (re.compile(r"#!|diff --git |--- \S+.*\n\+\+\+ \S"), refusals.PROGRAM),
    (re.compile(r"(?:---[ \t]*\n\s*)?-[ \t]+(?:text|id):[ \t]"), refusals.SETTINGS),
    (re.compile(r"\\(?:documentclass|usepackage|input|begin)\b"), refusals.LATEX),
    (re.compile(r"(?:#.*\n\s*)*(?:msgctxt|msgid) \""), refusals.TRANSLATIONS),
    (re.compile(r"(?:INSERT INTO|CREATE TABLE|SELECT \S.* FROM) "), refusals.STATEMENTS),
    (re.compile(r"#(?:separator|html|notetype|deck|columns|tags):"), refusals.FLASHCARDS),
    (re.compile(r"BEGIN:V(?:CARD|CALENDAR)\b"), refusals.CARDS),
    (re.compile(r"@[A-Za-z]{3,20}\{[\w:-]{1,80},"), refusals.SETTINGS),  # BibTeX
    (re.compile(r"-----BEGIN [A-Z ]{3,40}-----|begin \d{3} \S|%!PS"), refusals.ENCODED),
)
MAX_WORDS = 200  # that are looked at
_MISREAD_AS = ("cp1252", "cp1251")
_ADDRESS = re.compile(
    r"\s*(?:https?://\S+|[^\s|]{1,300}\.(?:wav|flac|mp3|ogg|opus|m4a|txt|pdf|docx?|epub|mp4|png|jpe?g))\s*"
)
_UTTERANCE = re.compile(r"(?=[^\s]*\d[^\s]*\d[^\s]*\d)([\w./-]{5,100})[ \t]+\S")
_DATE = re.compile(r"\d{1,4}[./-]\d{1,2}[./-]\d{1,4}")
_LETTERS, _DIGITS = re.compile(r"[^\W\d_]+"), re.compile(r"\d+")
_GAP = re.compile(r"(?<=\S) {2,}(?=\S)|(?<=\S)\t+(?=\S)")
_FRONT_MATTER = re.compile(r"---[ \t]*\n(?:[\w-]+:.*\n|[ \t].*\n|- .*\n)+---[ \t]*\n")
_FENCE = re.compile(r"[ \t]*(?:```|~~~)[\w+-]*$")


def lookalike(text: str) -> Refusal | None:
    """Return what the beginning of a text shows it to be; None for prose."""
    beginning = Beginning.of(text)
    for pattern, refusal in _START:
        if pattern.match(beginning.start):
            return refusal
    if any(_RULE.fullmatch(line) for line in beginning.lines[:4]):
        return refusals.DRAWN
    if _is_mail(beginning.start):
        return refusals.MAIL
    if beginning.all(_ADDRESS):
        return refusals.NAMES
    if _is_garbled(beginning.start):
        return refusals.GARBLED
    if found := marked_up(beginning) or structured(beginning) or timed(beginning):
        return found
    if _has_columns(beginning.lines):
        return refusals.COLUMNS
    return refusals.UTTERANCES if _are_utterances(beginning.lines) else None


def is_markdown(text: str) -> bool:
    """Whether a text has what only Markdown has: a block of metadata before it, or blocks of code."""
    beginning = Beginning.of(text)
    return bool(_FRONT_MATTER.match(beginning.start)) or beginning.count(_FENCE) > 1


def _is_mail(start: str) -> bool:
    names = set(_header_names(start))
    return "mime-version" in names or (bool(names & _SENDERS) and len(names & _MAIL_HEADERS) > 2)


def _header_names(start: str) -> Iterator[str]:
    """Yield the names of the fields before the first blank line, as far as lines are fields."""
    for line in start.split("\n"):
        found = _HEADER.match(line)
        if found:
            yield found[1].lower()
        elif not line[:1].isspace() and not line.startswith("From "):
            return


def _is_garbled(start: str) -> bool:
    """Whether most words beside ASCII are UTF-8 that was read as another encoding: no word of a language is."""
    words = [word for word in start.split() if not word.isascii()][:MAX_WORDS]
    return len(words) > 1 and any(
        2 * sum(_is_misread(word, codec) for word in words) > len(words) for codec in _MISREAD_AS
    )


def _is_misread(word: str, codec: str) -> bool:
    try:
        return word.encode(codec).decode() != word
    except UnicodeError:
        return False


def _has_columns(lines: tuple[str, ...]) -> bool:
    """Whether a second column begins at the same place in all lines, three or more, behind two spaces or more.

    Two spaces behind a sentence are no column, and neither are the page numbers of a table of contents.
    """
    if len(lines) < 3:
        return False
    starts = [{gap.end() for gap in _GAP.finditer(line) if line[gap.start() - 1] not in ".!?:"} for line in lines]
    common = set.intersection(*starts)
    return any(not all(line[place:].strip().isdigit() for line in lines) for place in common)


def _are_utterances(lines: tuple[str, ...]) -> bool:
    """Whether all lines begin with names of one form, such as utt-001, each another."""
    names = [found[1] for line in lines if (found := _UTTERANCE.match(line)) and not _DATE.fullmatch(found[1])]
    if len(names) < max(2, len(lines)) or len(set(names)) < len(names):
        return False
    forms = {_DIGITS.sub("0", _LETTERS.sub("a", name)) for name in names}
    return len(forms) == 1 and forms != {"0"} and not forms & {"0a", "0.0", "0/0"}
