"""Classify the line ends of a text: audible ends, ends inside a word, and ends of full lines.

A list item, a heading and a verse end with their line, with or without punctuation: see `endings`. A wrapped line
continues in the next one. A paragraph without a letter or digit is a scene break.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby

from voxcli.text.endings import SCENE, SENTENCE_END, VERSE_END, ends_in_mark
from voxcli.text.hyphens import Hyphens
from voxcli.text.scripts import CJK

__all__ = ["mark_line_ends", "mark_scenes"]

_QUOTE = re.compile(r"[ \t]*(?:>[ \t]?)*")
_HEADING = re.compile(r"#{1,6}[ \t]+\S")
_BULLET = re.compile(r"[-*+\u2022\u2023\u25e6][ \t]+\S")
_NUMBER = re.compile(r"(?:\d{1,3}[.)]|[a-z]\))[ \t]+\S")
_UNDERLINE = re.compile(r"(?:={3,}|-{3,})$")
_FENCE = ("```", "~~~")
_IS_CJK = re.compile(f"[{CJK}]")
_WORD = re.compile(r"\S+")
_PAUSE = "[pause "
CJK_VERSE = range(3, 21)  # characters of a line of Chinese verse; longer lines may be wrapped


def mark_scenes(text: str) -> str:
    """Return `text` with each paragraph that has neither a letter nor a digit replaced by SCENE.

    Line breaks must be newlines, and emoji not yet removed.
    """
    if "\n" not in text:
        return text
    out: list[str] = []
    for blank, group in groupby(text.split("\n"), key=lambda line: not line or line.isspace()):
        lines = list(group)
        worded = any(any(map(str.isalnum, line)) or line.lstrip().startswith(_FENCE) for line in lines)
        out.extend(lines if blank or worded else [SCENE])
    return "\n".join(out)


def mark_line_ends(text: str) -> str:
    """Return `text` with its audible line ends marked and its broken words joined.

    Line breaks must be newlines. Markdown stays; `markdown` removes it later.
    """
    if "\n" not in text:
        return text
    lines = [line.strip(" \t") for line in text.split("\n")]
    kinds = [_kind(line) for line in lines]
    hyphens = Hyphens(text)
    out: list[str] = []
    for kind, group in groupby(range(len(lines)), key=lambda number: _group(kinds, lines, number)):
        numbers = list(group)
        if kind == "scene":
            out.append(f"\n\n{SCENE}\n\n")
        elif kind == "heading":
            out.extend(f"\n\n{lines[number]}\n\n" for number in numbers)
        elif kind == "blank":
            out.append("\n\n")
        elif kind == "code":
            out.extend(f"{lines[number]}\n" for number in numbers)
        else:
            out.extend(_joined(lines, kinds, numbers, hyphens))
    return "".join(out)


def _kind(line: str) -> str:
    bare = line[_QUOTE.match(line).end() :]  # type: ignore[union-attr]
    if not bare:
        return "blank"
    if bare == SCENE:
        return "scene"
    if bare.startswith(_FENCE):
        return "code"
    if not any(map(str.isalnum, bare)):
        return "marks"
    if _HEADING.match(bare):
        return "heading"
    if bare.startswith("|") and bare.endswith("|"):
        return "row"
    if _BULLET.match(bare):
        return "item"
    return "number" if _NUMBER.match(bare) else "text"


def _group(kinds: Sequence[str], lines: Sequence[str], number: int) -> str:
    """Return the group of a line; a paragraph and its list are one group."""
    kind = kinds[number]
    if kind == "marks" and number and kinds[number - 1] == "text" and _UNDERLINE.match(lines[number]):
        return "blank"  # the line above is a heading
    return kind if kind in ("blank", "heading", "scene", "code") else "text"


def _joined(lines: Sequence[str], kinds: Sequence[str], numbers: Sequence[int], hyphens: Hyphens) -> Iterator[str]:
    """Yield the lines of one group, each with its separator to the next. Drop the rule under a table's head."""
    numbers = [number for number in numbers if not _is_table_rule(lines, kinds, number)]
    width = max(len(lines[number]) for number in numbers)
    in_list = len(numbers) > 1 and all(kinds[number] == "number" for number in numbers[:2])
    for place, number in enumerate(numbers):
        line, kind = lines[number], kinds[number]
        in_list = in_list or kind in ("item", "row")
        if number == numbers[-1] or kind == "marks":
            yield f"{line}\n"
            continue
        after = numbers[place + 1]
        following = lines[after]
        new = _starts_item(line, kinds[after], in_list)
        in_list = in_list or new
        if new or (ends_in_mark(line) and not line.endswith("-")):
            yield f"{line}{SENTENCE_END if new else ''}\n"
        elif (joined := hyphens.join(line, following)) is not None:
            yield joined
        elif not in_list and _is_verse(line, following, width):
            yield f"{line}{VERSE_END}\n"
        else:
            yield f"{line}\n"


def _is_table_rule(lines: Sequence[str], kinds: Sequence[str], number: int) -> bool:
    return kinds[number] == "marks" and number > 0 and kinds[number - 1] == "row" and "-" in lines[number]


def _starts_item(line: str, following: str, in_list: bool) -> bool:
    """Return whether `following` begins an item.

    A number does so only in a list or after a sentence end, because a wrapped line may begin with a year.
    """
    return following in ("item", "row") or (following == "number" and (in_list or ends_in_mark(line)))


def _is_verse(line: str, following: str, width: int) -> bool:
    """Return whether a line ends before it is full and the next one does not continue it in lower case."""
    if following.startswith(_PAUSE) or (line.endswith("]") and _PAUSE in line[-24:]):
        return False
    first = following.lstrip("\"'([\u00ab\u2039\u00bf\u00a1")[:1]
    if _IS_CJK.match(line[-1:]) and _IS_CJK.match(first):
        return width in CJK_VERSE and len(line) in CJK_VERSE
    word = _WORD.match(following)
    fits = word is not None and len(line) + 1 + len(word[0]) <= width
    return fits and not first.islower()
