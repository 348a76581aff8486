"""Count the steps of a regular expression by backtracking, like Python's own engine.

Steps are the same on every machine, so a test can distinguish expressions of quadratic time from those of linear time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

try:
    from re import _constants as op  # type: ignore[attr-defined]
    from re import _parser as parser  # type: ignore[attr-defined]
except ImportError:  # Python 3.10
    import sre_constants as op  # type: ignore[no-redef]
    import sre_parse as parser  # type: ignore[no-redef]

Item = tuple[Any, Any]
CATEGORIES = {
    op.CATEGORY_SPACE: str.isspace,
    op.CATEGORY_DIGIT: str.isdigit,
    op.CATEGORY_WORD: lambda char: char.isalnum() or char == "_",
    op.CATEGORY_NOT_SPACE: lambda char: not char.isspace(),
    op.CATEGORY_NOT_DIGIT: lambda char: not char.isdigit(),
    op.CATEGORY_NOT_WORD: lambda char: not (char.isalnum() or char == "_"),
}
SINGLE = {op.LITERAL, op.NOT_LITERAL, op.ANY, op.IN}
SAMPLES = " a1.-*_/@\n\"'<>{}[]()|:,=\u597d"


class Matcher:
    """Matches one expression; `steps` counts up over all calls."""

    def __init__(self, pattern: re.Pattern[str]):
        self.pattern = pattern
        self.items = list(parser.parse(pattern.pattern, pattern.flags))
        self.steps = 0
        self._text = ""
        self._accepted: dict[tuple[int, str], bool] = {}  # by id of an item, which lives as long as `items`
        self._groups: dict[int, tuple[int, int]] = {}

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Return the spans of `pattern.finditer(text)`."""
        self._text, found, place = text, [], 0
        empty_allowed = True
        while place <= len(text):
            self._groups.clear()
            ends = (end for end in self._sequence(self.items, 0, place) if end > place or empty_allowed)
            end = next(ends, None)
            if end is None:
                place, empty_allowed = place + 1, True
                continue
            found.append((place, end))
            # after an empty match, the next match begins at the same place but is not empty
            place, empty_allowed = end, end > place
        return found

    def count(self, text: str, *, anchored: bool = False) -> int:
        """Return the steps to find all matches in a text or, if `anchored`, to match it from its start."""
        self.steps, self._text = 0, text
        if anchored:
            next(self._sequence(self.items, 0, 0), None)
        else:
            self.spans(text)
        return max(1, self.steps)

    def _sequence(self, items: list[Item], index: int, place: int) -> Iterator[int]:
        if index == len(items):
            yield place
            return
        for end in self._item(items[index], place):
            yield from self._sequence(items, index + 1, end)

    def _item(self, item: Item, place: int) -> Iterator[int]:
        kind, value = item
        self.steps += 1
        if kind in SINGLE:
            if place < len(self._text) and self.accepts(item, self._text[place]):
                yield place + 1
        elif kind is op.AT:
            if self._at(value, place):
                yield place
        elif kind in (op.MAX_REPEAT, op.MIN_REPEAT):
            yield from self._repeat(*value, place, greedy=kind is op.MAX_REPEAT)
        elif kind is op.SUBPATTERN:
            group, _, _, inside = value
            for end in self._sequence(list(inside), 0, place):
                if group is not None:
                    self._groups[group] = place, end
                yield end
        elif kind is op.BRANCH:
            for branch in value[1]:
                yield from self._sequence(list(branch), 0, place)
        elif kind in (op.ASSERT, op.ASSERT_NOT):
            if self._looks(*value, place) is (kind is op.ASSERT):
                yield place
        elif kind is op.GROUPREF:
            start, end = self._groups[value]
            self.steps += end - start
            if self._text.startswith(self._text[start:end], place):
                yield place + end - start
        else:
            raise NotImplementedError(str(kind))

    def _repeat(self, minimum: int, maximum: int, inside: Any, place: int, *, greedy: bool) -> Iterator[int]:
        items = list(inside)
        if len(items) == 1 and items[0][0] in SINGLE and greedy:
            count = 0
            while count < maximum and place + count < len(self._text):
                self.steps += 1
                if not self.accepts(items[0], self._text[place + count]):
                    break
                count += 1
            for taken in range(count, int(minimum) - 1, -1):
                self.steps += 1
                yield place + taken
            return

        def again(start: int, count: int) -> Iterator[int]:
            if not greedy and count >= minimum:
                yield start
            if count < maximum:
                for end in self._sequence(items, 0, start):
                    if end > start or count < minimum:
                        yield from again(end, count + 1)
            if greedy and count >= minimum:
                yield start

        yield from again(place, 0)

    def _looks(self, direction: int, inside: Any, place: int) -> bool:
        if direction > 0:
            return next(self._sequence(list(inside), 0, place), None) is not None
        start = place - inside.getwidth()[0]
        return start >= 0 and place in self._sequence(list(inside), 0, start)

    def _at(self, where: Any, place: int) -> bool:
        text, flags = self._text, self.pattern.flags
        if where is op.AT_BEGINNING:
            return place == 0 or bool(flags & re.MULTILINE and text[place - 1] == "\n")
        if where is op.AT_END:
            last = place == len(text) or (place == len(text) - 1 and text[place] == "\n")
            return last or bool(flags & re.MULTILINE and text[place : place + 1] == "\n")
        if where is op.AT_BEGINNING_STRING:
            return place == 0
        if where is op.AT_END_STRING:
            return place == len(text)
        assert where is op.AT_BOUNDARY, where
        sides = [bool(char) and self._in(op.CATEGORY_WORD, char) for char in (text[:place][-1:], text[place:][:1])]
        return sides[0] != sides[1]

    def _in(self, category: Any, char: str) -> bool:
        if self.pattern.flags & re.ASCII and not char.isascii():
            return str(category).startswith("CATEGORY_NOT")
        return bool(CATEGORIES[category](char))

    def accepts(self, item: Item, char: str) -> bool:
        key = id(item), char
        found = self._accepted.get(key)
        if found is None:
            found = self._accepted[key] = self._accepts(item, char)
        return found

    def _accepts(self, item: Item, char: str) -> bool:
        kind, value = item
        if self.pattern.flags & re.IGNORECASE and char.isalpha():
            return any(self._exactly(kind, value, form) for form in {char.lower(), char.upper()})
        return self._exactly(kind, value, char)

    def _exactly(self, kind: Any, value: Any, char: str) -> bool:
        if kind is op.ANY:
            return char != "\n" or bool(self.pattern.flags & re.DOTALL)
        if kind is not op.IN:
            return (ord(char) == value) is (kind is op.LITERAL)
        found = any(self._of_class(*part, char) for part in value if part[0] is not op.NEGATE)
        return found is not (value[0][0] is op.NEGATE)

    def _of_class(self, kind: Any, value: Any, char: str) -> bool:
        if kind is op.LITERAL:
            return ord(char) == value
        if kind is op.RANGE:
            return bool(value[0] <= ord(char) <= value[1])
        return self._in(value, char)


def attacks(matcher: Matcher, size: int, times: int = 1) -> Iterator[str]:
    """Yield texts of about `size` * `times` characters that may make an expression slow.

    Each is a beginning that matches, then a repetition that matches, then any end.
    """
    repeated = _characters(matcher, matcher.items, inside=False)
    heads = ["", *dict.fromkeys(_heads(matcher, matcher.items))][:6]
    pairs = [a + b for a in repeated for b in repeated if a != b]
    units = [*repeated, *(head for head in heads if 1 < len(head) <= size // 4), *pairs]
    tails = dict.fromkeys(["", "\0", *_characters(matcher, matcher.items, inside=True)[:-3:-1]])
    for head in heads:
        for unit in units[:10]:
            for tail in tails:
                yield head + unit * (size // len(unit) * times) + tail


def _characters(matcher: Matcher, items: Any, *, inside: bool) -> list[str]:
    """Return some characters that match its repeats or, if `inside`, any of its parts."""
    found: dict[str, None] = {}
    for item in items:
        kind, value = item
        if kind in SINGLE and inside:
            found |= dict.fromkeys(_taken(matcher, item)[:2])
        for part in _parts(item):
            repeats = kind in (op.MAX_REPEAT, op.MIN_REPEAT) and value[1] > 8
            found |= dict.fromkeys(_characters(matcher, part, inside=inside or repeats))
    return list(found)


def _heads(matcher: Matcher, items: Any) -> Iterator[str]:
    """Yield a text that matches up to each of its parts, with the minimum of repetitions."""
    taken = ""
    for item in items:
        for part in _parts(item):
            yield from (taken + head for head in _heads(matcher, part))
        if item[0] in (op.ASSERT, op.ASSERT_NOT, op.AT):
            continue
        taken += _sample(matcher, item)
        yield taken


def _sample(matcher: Matcher, item: Item) -> str:
    kind, value = item
    if kind in SINGLE:
        return (_taken(matcher, item) or [""])[0]
    if kind in (op.MAX_REPEAT, op.MIN_REPEAT):
        return "".join(_sample(matcher, part) for part in value[2]) * int(value[0])
    parts = _parts(item)
    return "".join(_sample(matcher, part) for part in parts[0]) if parts else ""


def _taken(matcher: Matcher, item: Item) -> list[str]:
    kind, value = item
    if kind is op.LITERAL:
        return [chr(value)]
    own = (
        [chr(part[1] if part[0] is op.LITERAL else part[1][0]) for part in value if part[0] in (op.LITERAL, op.RANGE)]
        if kind is op.IN
        else []
    )
    return [char for char in (*SAMPLES, *own) if matcher.accepts(item, char)]


def _parts(item: Item) -> list[Any]:
    kind, value = item
    if kind in (op.MAX_REPEAT, op.MIN_REPEAT):
        return [value[2]]
    if kind is op.SUBPATTERN:
        return [value[3]]
    if kind is op.BRANCH:
        return list(value[1])
    return [value[1]] if kind in (op.ASSERT, op.ASSERT_NOT) else []
