"""Which words of a text the report page marks: those that the check found missing, wrong, added or repeated."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

REPLACED = ("missing", "changed")  # words of the text, by the index of their first character
INSERTED = ("added", "repeated")  # words that are not in it, by the index before which they were heard
KINDS = (*REPLACED, *INSERTED)


def word_marks(text: str, check: Mapping[str, Any] | None) -> list[list[Any]]:
    """Return the marks of a text, in order: `[start, length, kind]`, or for inserted words `[start, words, kind]`.

    check: the field of results.jsonl. What is no place in the text is left out: the field may come from other programs.

    Start and length count as JavaScript does, in UTF-16; a kind is an index of KINDS.
    """
    found = sorted(_marks(text, check or {}), key=lambda mark: (mark[0], KINDS[mark[1]] in REPLACED, mark[1]))
    units = _utf16(text)
    marks: list[list[Any]] = []
    for start, kind, word in _joined(found):
        at = units(start)
        marks.append([at, word if KINDS[kind] in INSERTED else units(start + len(word)) - at, kind])
    return marks


def _marks(text: str, check: Mapping[str, Any]) -> Iterator[tuple[int, int, str]]:
    for kind, name in enumerate(KINDS):
        places = check.get(name)
        for place in places if isinstance(places, list | tuple) else ():
            match place:
                case [int(start), str(word)] if 0 <= start <= len(text) and word:
                    if name in INSERTED or text.startswith(word, start):
                        yield start, kind, word


def _joined(marks: Iterable[tuple[int, int, str]]) -> Iterator[tuple[int, int, str]]:
    """Yield marks with inserted words of one place and kind as one mark."""
    last: tuple[int, int, str] | None = None
    for start, kind, word in marks:
        if last is not None and last[:2] == (start, kind):
            if KINDS[kind] in INSERTED:
                last = start, kind, f"{last[2]} {word}"
            continue
        if last is not None:
            yield last
        last = start, kind, word
    if last is not None:
        yield last


def _utf16(text: str) -> Callable[[int], int]:
    """Return a function that counts the UTF-16 units before an index of `text`."""
    if text.isascii() or max(text) < "\U00010000":
        return lambda index: index
    return lambda index: len(text[:index].encode("utf-16-le", "surrogatepass")) // 2
