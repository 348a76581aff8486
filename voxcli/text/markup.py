"""Read SSML and HTML in a text: pauses become one kind of mark, entities are decoded, other SSML is removed.

No model here supports SSML. A tag is markup if its name is one of SSML's, or if it looks like markup: with attributes,
self-closing, or with a closing tag somewhere. "x <y> z" and "a < b" are prose. Removed tags are counted. `markdown`
removes HTML tags that format words.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from html.entities import html5

from voxcli.text.endings import PRIVATE, SCENE, SENTENCE_END, VERSE_END

__all__ = ["DEFAULT_PAUSE_S", "PAUSE", "TextNotes", "left_over_tags", "pause_mark", "read_markup"]

DEFAULT_PAUSE_S = 0.5
_STRENGTHS = {"none": 0.0, "x-weak": 0.1, "weak": 0.25, "medium": DEFAULT_PAUSE_S, "strong": 1.0, "x-strong": 1.5}
# A pause in a clean text.
PAUSE = re.compile(r"\[pause (\d{1,9}(?:\.\d{1,6})?)s\]")
_MAX_S = 1e8  # seconds; longer pauses become this one, which is rejected later

_UNITS = r"(ms|msecs?|milliseconds?|s|secs?|seconds?)"
_WRITTEN_PAUSE = re.compile(
    rf"\[ {{0,3}}pause(?: {{0,3}}[:= ] {{0,3}}(\d{{1,40}}(?:[.,]\d{{1,40}})?) {{0,3}}{_UNITS}?)? {{0,3}}\]",
    re.IGNORECASE,
)
_TIME = re.compile(rf"\+?(\d{{0,40}}\.?\d{{1,40}}) {{0,3}}{_UNITS}?", re.IGNORECASE)

_VALUE = r"(?:\"[^\"<>]{0,500}\"|'[^'<>]{0,500}'|[^\s\"'<>=]{1,500})"
_ATTRIBUTE = re.compile(rf"\s([\w:.-]{{1,50}})\s{{0,9}}=\s{{0,9}}({_VALUE})")
_TAG = re.compile(
    rf"<(/?)([A-Za-z][\w:.-]*)((?:\s{{1,9}}[\w:.-]{{1,50}}\s{{0,9}}=\s{{0,9}}{_VALUE}){{0,30}})\s{{0,9}}(/?)>"
)
_SUB = re.compile(
    r"<sub\s{1,9}alias\s{0,9}=\s{0,9}(?:\"([^\"<>]{0,500})\"|'([^'<>]{0,500})')\s{0,9}>[^<>]{0,500}</sub\s{0,9}>",
    re.IGNORECASE,
)
_PROLOG = re.compile(r"<\?[^<>]{0,500}\?>|<!DOCTYPE[^<>]{0,500}>", re.IGNORECASE)
_ENTITY = re.compile(r"&(?:#(\d{1,7})|#[xX]([0-9a-fA-F]{1,6})|([A-Za-z][A-Za-z0-9]*));")


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_SSML = _words(
    """
    speak voice prosody emphasis say-as phoneme audio desc mark bookmark lang lexicon metadata token w par seq media
    lookup meta
    """
)
_VENDORS = ("amazon:", "mstts:", "google:", "ibm:", "apple:")
# Tags that `markdown` removes or keeps by its own rules.
_HTML = _words(
    """
    a b blockquote code del div em font h1 h2 h3 h4 h5 h6 i img li mark ol pre small span strong sub sup u ul
    """
)


@dataclass
class TextNotes:
    """What was left out of a text. tags: number by name.  note_marks: number of note marks."""

    tags: Counter[str] = field(default_factory=Counter)
    note_marks: int = 0


def pause_mark(seconds: float) -> str:
    """Return the mark of a pause, which PAUSE matches."""
    return f"[pause {f'{seconds:.6f}'.rstrip('0').rstrip('.')}s]"


def read_markup(text: str, notes: TextNotes) -> str:
    """Return `text` with pauses as marks, without other SSML, with entities decoded. Line breaks are kept."""
    if "<" in text:
        text = _SUB.sub(lambda found: found[1] or found[2] or "", _PROLOG.sub("", text))
        closed = {tag[2].lower() for tag in _TAG.finditer(text) if tag[1]}
        text = _TAG.sub(lambda tag: _read_tag(tag, closed, notes), text)
    if "[" in text:
        text = _WRITTEN_PAUSE.sub(_read_pause, text)
    return _ENTITY.sub(_decoded, text) if "&" in text else text


def left_over_tags(text: str) -> list[str]:
    """Return what looks like a tag but is spoken, without repetitions."""
    return list(dict.fromkeys(tag[0] for tag in _TAG.finditer(text))) if "<" in text else []


def _read_tag(tag: re.Match[str], closed: set[str], notes: TextNotes) -> str:
    closing, name = bool(tag[1]), tag[2].lower()
    if name == "break":
        return _read_break(tag, notes)
    if name == "br":
        return f"{VERSE_END}\n"
    if name == "hr":
        return f"\n\n{SCENE}\n\n"
    if name == "p":
        return "\n\n"
    if name == "s" and "speak" in closed:  # a sentence in SSML, struck out in HTML
        return f"{SENTENCE_END}\n" if closing else ""
    if name in _HTML or (name == "s" and not tag[3]):
        return tag[0]
    if name in _SSML or name.startswith(_VENDORS) or name in closed or tag[3] or tag[4]:
        if not closing and name != "speak":
            notes.tags[name] += 1
        return ""
    return tag[0]


def _read_break(tag: re.Match[str], notes: TextNotes) -> str:
    if tag[1]:
        return ""
    values = {name.lower(): value.strip("\"'").strip().rstrip("/") for name, value in _ATTRIBUTE.findall(tag[3])}
    if "time" not in values:
        return f" {pause_mark(_STRENGTHS.get(values.get('strength', 'medium'), DEFAULT_PAUSE_S))} "
    if time := _TIME.fullmatch(values["time"]):
        return f" {pause_mark(_seconds(time[1], time[2]))} "
    notes.tags["break"] += 1
    return " "


def _read_pause(found: re.Match[str]) -> str:
    return pause_mark(_seconds(found[1], found[2]) if found[1] else DEFAULT_PAUSE_S)


def _seconds(number: str, unit: str | None) -> float:
    return min(_MAX_S, float(number.replace(",", ".")) / (1000 if (unit or "s").lower().startswith("m") else 1))


def _decoded(entity: re.Match[str]) -> str:
    if entity[3]:
        return html5.get(f"{entity[3]};", entity[0])
    code = int(entity[1]) if entity[1] else int(entity[2], 16)
    return "" if code > 0x10FFFF or 0xD800 <= code < 0xE000 or PRIVATE.match(chr(code)) else chr(code)
