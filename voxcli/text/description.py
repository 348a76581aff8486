"""Detect a voice description in brackets before a text: "(a warm, slow voice)Hello.".

The model knows the form "(description)text". Books also begin paragraphs with brackets: "(She never came back.) The
door stayed open." Brackets before a text are a description if text follows them, they are not a sentence, and either

- they name a voice or a manner of speaking, and nothing else if a space follows them; or
- they are a few words with no space after the bracket, which prose would have. `is_certain` is False for these.

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
    PERSON_HAN,
    PERSONS,
    SMALL,
    VOICE_HAN,
    VOICES,
)
from voxcli.text.scripts import CJK

__all__ = [
    "MAX_DESCRIPTION",
    "compose",
    "described_by",
    "is_certain",
    "person_of",
    "split_control",
    "without_leading_brackets",
]

MAX_DESCRIPTION = 1_000  # characters; every segment of a text repeats the description
MAX_WORDS = 6  # in a description without a voice or a manner; a Chinese character counts as a third of a word

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
    """Split "(description)text" into ("description", "text"); ("", text) if it does not begin with a description.

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
    """Return whether a description at the start of a text is unlikely to be anything else."""
    return _reading(description, "A") == "certain"


def person_of(description: str) -> str:
    """Return the words that name who speaks, not how; empty if there are none.

    >>> person_of("an old man, whispering")
    'old man'
    >>> person_of("a warm, slow voice")
    ''
    """
    words = [word for word in _WORD.findall(description.casefold()) if word in PERSONS]
    return " ".join(dict.fromkeys([*words, *PERSON_HAN.findall(description)]))


def described_by(own: str, control: str | None) -> str:
    """Join two descriptions: the one given separately (`control`), then the one in the text (may be empty)."""
    given = _inside(control) if control else ""
    comma = "\uff0c" if _IS_CJK.match(given[-1:]) else ", "
    return comma.join(dict.fromkeys(part for part in (given, own) if part))


def compose(text: str, description: str) -> str:
    """Return text and description in the form that the model knows."""
    return f"({description}){text}" if description else text


def without_leading_brackets(text: str) -> str:
    """Return `text` without brackets at its start, which a model would take for a description.

    >>> without_leading_brackets("(Un)able to speak")
    'Unable to speak'
    """
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
    """Split "(inside)text" into ("inside", "text"); ("", text) if there are no brackets at the start.

    Full-width and nested brackets are recognized. The inside has at least two letters, or one Chinese or Japanese
    character ("(2) Second point" has neither), and at most MAX_DESCRIPTION characters.
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
    """Classify the words `inside` brackets before the text `rest`."""
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
    """Return whether the words include a subject or a verb, like a sentence."""
    return any(word in ACTORS or word.endswith(("n't", "n\u2019t")) for word in words)


def _has_past(words: list[str]) -> bool:
    return any(word.endswith("ed") and len(word) > 4 and word not in PARTICIPLES for word in words)


def _only_describes(words: list[str]) -> bool:
    """Return whether the words name a voice, or only manners and persons."""
    lead = words[1] if len(words) > 1 and words[0] in _IN else words[0] if words else ""
    if lead in LEADS or _has_past(words):
        return False
    if any(word in VOICES for word in words):
        return True
    named = [word for word in words if word not in SMALL]
    return bool(named) and all(word in MANNERS or word in PERSONS for word in named)


def _inside(inside: str) -> str:
    """Return the inside of brackets without inner brackets and stray spaces; empty if it describes nothing."""
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
