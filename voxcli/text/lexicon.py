"""A lexicon: words and phrases that are written in one way and said in another.

Whole words only, the longest entry first, and what was put in is not looked at again. An entry in small letters also
holds for the word with a capital and in capitals; one with a capital in it holds exactly. {Phonemes}, [tags] and what
takes their form are left alone. A text takes time that grows with its length, whatever the number of entries.
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

__all__ = ["MAX_SAID", "MAX_WORDS", "Lexicon"]

MAX_WORDS = 64  # tokens of an entry: a text is looked at so many times at most
MAX_SAID = 500  # characters: with shorter ones a text can't grow beyond reason
_BRACKETS = re.compile(r"\{[^{}]*\}|\[[^\[\]]*\]")
_TAG = re.compile(r"\[[a-z0-9 _.,:=-]{1,40}\]")  # [laughing], and no words with a capital
NO_ENTRIES: Mapping[str, str] = MappingProxyType({})
_Node = dict[str | None, Any]  # a node for each next word; None: what is said when the entry ends here


class Lexicon:
    """Entries by their words. Compared by identity: two lexicons are the same only as one object."""

    def __init__(self, entries: Mapping[str, str] = NO_ENTRIES, source: Path | None = None):
        """source: the file that it was read from. Raises InputError as `add` does."""
        self.source = source
        self.exact: _Node = {}
        self.folded: _Node = {}
        self._count = 0
        for written, said in entries.items():
            self.add(written, said)

    def __len__(self) -> int:
        return self._count

    def add(self, written: str, said: str) -> None:
        """Raises InputError for an entry that can't be used, or that contradicts another one."""
        key, said = clean(written), clean(said)
        if not written.strip():
            raise InputError("there is no word before what is said")
        if not key:
            raise InputError(f"{quoted(written)} is never in a text that is spoken: emoji and marks are left out of it")
        if not said:
            raise InputError(f"nothing is said for {quoted(written)}")
        if len(said) > MAX_SAID:
            raise InputError(
                f"what is said for {quoted(written)} has {len(said):,} characters; the maximum is {MAX_SAID}"
            )
        words = [token.text for token in tokens(key)]
        if len(words) > MAX_WORDS:
            raise InputError(f"{quoted(written)} has {len(words):,} words and marks; the maximum is {MAX_WORDS}")
        node = self.folded if key == key.lower() else self.exact
        for word in words:
            node = node.setdefault(word, {})
        if node.setdefault(None, said) != said:
            raise InputError(f"{quoted(written)} stands twice: {quoted(node[None])} and {quoted(said)} are said for it")
        self._count += 1

    def apply(self, text: str, start: int = 0) -> Rewritten:
        """`text`, cleaned before, as it is said from `start` on."""
        edits: list[Edit] = []
        parts: list[str] = []
        done = length = 0  # of the text, and of what is said
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
            place, said = match
            parts += [text[done:begin], said]
            length += begin - done
            done = found[place - 1].end
            edits.append(Edit(length, length + len(said), begin, done))
            length += len(said)
        return Rewritten("".join([*parts, text[done:]]), text, edits) if edits else Rewritten(text, text)

    def _longest(self, found: list[Token], place: int) -> tuple[int, str] | None:
        """Of the entries that begin with the token at `place`: behind its last token, and what is said for it."""
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
    """The node of a word as it is, else of the same in small letters where it has one capital in front or is all in
    capitals.
    """
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
    """What a word in capitals may be in small letters besides: German writes SS for a sharp s."""
    return [lower[:at] + "\u00df" + lower[at + 2 :] for at in range(len(lower)) if lower.startswith("ss", at)][:8]


def _markup(text: str) -> dict[int, int]:
    """Start and end of what is no text."""
    found = _BRACKETS.finditer(text)
    return {match.start(): match.end() for match in found if match[0][0] == "{" or _TAG.fullmatch(match[0])}
