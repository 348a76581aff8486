"""A lexicon: words and phrases with their spoken forms.

Only whole words match, the longest entry first, and spoken forms are not searched again. A lower-case entry also
matches the word capitalized or in upper case; an entry with a capital matches exactly. {Phonemes}, [tags] and anything
of their form are skipped. Time is linear in the length of a text, whatever the number of entries.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from voxcli.errors import InputError, quoted
from voxcli.text.clean import clean
from voxcli.text.rewritten import Edit, Rewritten
from voxcli.text.words import Token, tokens

__all__ = ["MAX_SPOKEN", "MAX_WORDS", "Lexicon"]

MAX_WORDS = 64  # tokens of an entry; limits how often a token is compared
MAX_SPOKEN = 500  # characters of a spoken form; limits the growth of a text
_BRACKETS = re.compile(r"\{[^{}]*\}|\[[^\[\]]*\]")
_TAG = re.compile(r"\[[a-z0-9 _.,:=-]{1,40}\]")  # [laughing], but not words with a capital
NO_ENTRIES: Mapping[str, str] = MappingProxyType({})
_Node = dict[str | None, Any]  # a node for each next word; None: the spoken form of the entry that ends here


class Lexicon:
    """Entries in two tries of words. Lexicons are compared by identity."""

    def __init__(self, entries: Mapping[str, str] = NO_ENTRIES, source: Path | None = None):
        """source: the file it was read from. Raises InputError like `add`."""
        self.source = source
        self.exact: _Node = {}
        self.folded: _Node = {}
        self._count = 0
        self.entries: dict[str, str] = {}  # as they were added
        for written, spoken in entries.items():
            self.add(written, spoken)

    def __len__(self) -> int:
        return self._count

    def add(self, written: str, spoken: str) -> None:
        """Add an entry. Raises InputError if it is unusable or contradicts another one."""
        key, spoken = clean(written), clean(spoken)
        if not written.strip():
            raise InputError("the word before the spoken form is missing")
        if not key:
            raise InputError(f"{quoted(written)} never matches, because emoji and formatting are removed from texts")
        if not spoken:
            raise InputError(f"the spoken form of {quoted(written)} is missing")
        if len(spoken) > MAX_SPOKEN:
            raise InputError(
                f"the spoken form of {quoted(written)} has {len(spoken):,} characters; the maximum is {MAX_SPOKEN}"
            )
        words = [token.text for token in tokens(key)]
        if len(words) > MAX_WORDS:
            raise InputError(
                f"{quoted(written)} has {len(words):,} words and punctuation marks; the maximum is {MAX_WORDS}"
            )
        node = self.folded if key == key.lower() else self.exact
        for word in words:
            node = node.setdefault(word, {})
        if node.setdefault(None, spoken) != spoken:
            raise InputError(f"{quoted(written)} has two spoken forms: {quoted(node[None])} and {quoted(spoken)}")
        self._count += 1
        self.entries[written] = spoken

    def apply(self, text: str, start: int = 0) -> Rewritten:
        """Return `text`, which is clean, with its entries in spoken form from index `start` on."""
        edits: list[Edit] = []
        parts: list[str] = []
        done = length = 0  # position in the text, and in the result
        found = tokens(text)
        skipped = _markup(text)
        if start:
            skipped[0] = start
        place = 0
        while place < len(found):
            begin = found[place].start
            if end := skipped.get(begin):
                while place < len(found) and found[place].start < end:
                    place += 1
                continue
            match = self._longest(found, place)
            if match is None:
                place += 1
                continue
            place, spoken = match
            parts += [text[done:begin], spoken]
            length += begin - done
            done = found[place - 1].end
            edits.append(Edit(length, length + len(spoken), begin, done))
            length += len(spoken)
        return Rewritten("".join([*parts, text[done:]]), text, edits) if edits else Rewritten(text, text)

    def _longest(self, found: list[Token], place: int) -> tuple[int, str] | None:
        """Return the longest entry that begins with the token at `place`: the index after it, and its spoken form."""
        exact = _walk(self.exact, found, place, lambda word, node: node.get(word))
        folded = _walk(self.folded, found, place, _next_folded)
        return max((match for match in (exact, folded) if match), key=lambda match: match[0], default=None)


def _walk(node: _Node, found: list[Token], place: int, step: Any) -> tuple[int, str] | None:
    best = None
    while place < len(found) and (node := step(found[place].text, node)) is not None:
        place += 1
        if None in node:
            best = place, node[None]
    return best


def _next_folded(word: str, node: _Node) -> _Node | None:
    """Return the node of a word as it is; else of its lower-case form, if it is capitalized or in upper case."""
    if (found := node.get(word)) is not None or word == (lower := word.lower()):
        return found
    if word[1:] == lower[1:] and word[:1] == lower[:1].upper():
        return node.get(lower)
    if word != word.upper():
        return None
    if (found := node.get(lower)) is None:  # STRASSE
        found = next((node[each] for each in _spellings(lower) if each in node), None)
    return found


def _spellings(lower: str) -> list[str]:
    """Return other lower-case spellings of an upper-case word: German writes SS for a sharp s."""
    return [lower[:at] + "\u00df" + lower[at + 2 :] for at in range(len(lower)) if lower.startswith("ss", at)][:8]


def _markup(text: str) -> dict[int, int]:
    """Return start -> end of {phonemes} and [tags]."""
    found = _BRACKETS.finditer(text)
    return {match.start(): match.end() for match in found if match[0][0] == "{" or _TAG.fullmatch(match[0])}
