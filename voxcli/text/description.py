"""A description of the voice in brackets before a text, "(a warm, slow voice)Hello.", and what only looks like one.

The model knows "(description)text". Books begin paragraphs with brackets too: "(She never came back.) The door stayed
open." The rule: brackets before a text describe the voice when something follows them, they are no sentence, and

- they name a voice or a manner of speaking, and nothing else where a space follows them; or
- they touch the text behind them, as no prose with spaces does, and are a few words. `is_certain` is false for those.

All other brackets are spoken.
"""

from __future__ import annotations

import re
from typing import Literal

from voxcli.text.endings import CLOSERS, MARKS, continued, finish, written
from voxcli.text.manners import (
    ACTORS,
    HAN_NUMBER,
    IMPERATIVES,
    LEADS,
    MANNERS,
    PARTICIPLES,
    PERSONS,
    SMALL,
    VOICE_HAN,
    VOICES,
)
from voxcli.text.scripts import CJK

__all__ = ["MAX_DESCRIPTION", "compose", "described_by", "is_certain", "split_control", "without_leading_brackets"]

MAX_DESCRIPTION = 1_000  # characters: every piece of a text repeats its description
MAX_WORDS = 6  # of a description that names neither a voice nor a manner; a Chinese character is a third of a word

_OPEN, _CLOSE = "(\uff08", ")\uff09"
_BRACKETS = re.compile(r"[()\uff08\uff09]+")
_OUTER_BRACKETS = {"[": "]", "\u3010": "\u3011", "{": "}", "\u300c": "\u300d", '"': '"', "'": "'"}
_GAP_BEFORE_MARK = re.compile(r" (?=[,.;:!?\uff0c\u3001\uff1b])")
_IS_CJK = re.compile(f"[{CJK}]")
_WORD = re.compile(r"[^\W\d_]+(?:['\u2019-][^\W\d_]+)*")
_HAN = re.compile("[\u3041-\u30ff\u3400-\u9fff\uac00-\ud7a3]")
_SENTENCE_MARKS = frozenset(".!?\u2026\u3002\uff01\uff1f")
_IN = frozenset(["in", "with"])
_RELATIVE = re.compile(
    r"\b(?:who|that|which|die|der|das|qui|que)\s(?:is|are|has|sounds|speaks|est|ist|es)\b", re.IGNORECASE
)

Reading = Literal["prose", "doubtful", "certain"]


def split_control(text: str) -> tuple[str, str]:
    """Take "(description)text" apart: ("description", "text"), or ("", text) when no description begins it.

    >>> split_control("(a warm voice) Hello.")
    ('a warm voice', 'Hello.')
    >>> split_control("(She never came back.) The door stayed open.")
    ('', '(She never came back.) The door stayed open.')
    """
    inside, rest = _leading_brackets(text)
    if not inside or not any(map(str.isalnum, rest)) or _reading(inside, rest) == "prose":
        return "", text
    return inside, rest.lstrip()


def is_certain(description: str) -> bool:
    """Whether a description that a text began with can hardly be anything else."""
    return _reading(description, "A") == "certain"


def described_by(own: str, control: str | None) -> str:
    """One description from that of a text, which may be empty, and one that is given beside it, which goes first."""
    given = _inside(control) if control else ""
    comma = "\uff0c" if _IS_CJK.match(given[-1:]) else ", "
    return comma.join(dict.fromkeys(part for part in (given, own) if part))


def compose(text: str, description: str) -> str:
    """The one form that the model knows."""
    return f"({description}){text}" if description else text


def without_leading_brackets(text: str) -> str:
    """The same words, without the brackets in which a model would see a description; "(un)able" becomes "unable"."""
    aside, rest = _leading_brackets(text)
    if not aside:
        return text
    body = rest.lstrip()
    if not body:
        return aside
    if body[0] in MARKS or body[0] in CLOSERS or (body is rest and " " not in aside and body[0].islower()):
        return aside + body
    return f"{continued(aside) if body[0].islower() else finish(aside)} {body}"


def _leading_brackets(text: str) -> tuple[str, str]:
    """Take "(inside)text" apart: ("inside", "text"), or ("", text) when it does not start so.

    Full-width and nested brackets are understood. Two letters at least stand inside, or one of a script that writes
    words so ("(2) Second point" has none), and at most MAX_DESCRIPTION characters.
    """
    start = text.lstrip()
    if not start or start[0] not in _OPEN:
        return "", text
    depth = 0
    for position, char in enumerate(start[: MAX_DESCRIPTION + 2]):
        depth += (char in _OPEN) - (char in _CLOSE)
        if depth == 0:
            inside = _inside(start[1:position])
            return (inside, start[position + 1 :]) if inside else ("", text)
    return "", text


def _reading(inside: str, rest: str) -> Reading:
    """How the words of brackets before the text `rest` are read."""
    words = _WORD.findall(_RELATIVE.sub(" ", inside).casefold())
    han = VOICE_HAN.search(inside) is not None
    manner = han or any(word in MANNERS for word in words)
    if manner and words and words[0] in IMPERATIVES:
        return "certain"  # (speak as if you were tired)
    sentence = inside.rstrip(CLOSERS + " ")[-1:] in _SENTENCE_MARKS
    if _has_actor(words) or (sentence and (_HAN.search(inside) or not manner or _has_past(words))):
        return "prose"
    if rest[:1].isspace() and not han:
        return "certain" if not sentence and _only_describes(words) and not rest.lstrip()[:1].islower() else "prose"
    if manner or any(word in PERSONS for word in words):
        return "certain"
    number = any(map(str.isdigit, inside)) or HAN_NUMBER.fullmatch(inside)
    part_of_word = len(words) == 1 and rest[:1].islower()  # (un)able
    if number or part_of_word or (words and words[0] in LEADS):
        return "prose"
    return "doubtful" if len(words) + len(_HAN.findall(inside)) / 3 <= MAX_WORDS else "prose"


def _has_actor(words: list[str]) -> bool:
    """Whether somebody does something, as in a sentence."""
    return any(word in ACTORS or word.endswith(("n't", "n\u2019t")) for word in words)


def _has_past(words: list[str]) -> bool:
    return any(word.endswith("ed") and len(word) > 4 and word not in PARTICIPLES for word in words)


def _only_describes(words: list[str]) -> bool:
    """Whether the words name a voice, or nothing but manners and persons."""
    lead = words[1] if len(words) > 1 and words[0] in _IN else words[0] if words else ""
    if lead in LEADS or _has_past(words):
        return False
    if any(word in VOICES for word in words):
        return True
    named = [word for word in words if word not in SMALL]
    return bool(named) and all(word in MANNERS or word in PERSONS for word in named)


def _inside(inside: str) -> str:
    """What stands in brackets, without brackets and gaps around its parts; empty when it describes nothing."""
    inside = written(_BRACKETS.sub(" ", _without_outer_brackets(inside)))
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
