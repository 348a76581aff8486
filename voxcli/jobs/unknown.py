"""What of a text the model that speaks has no letters for: it says nothing there, or anything."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from typing import Protocol

from voxcli.errors import InputError
from voxcli.terminal import counted, printable
from voxcli.text.clean import split_control

MAX_SHARE = 0.5  # of the letters of a text: with more of them unknown, what is heard is not the text
MAX_SHOWN = 8


class Tokenizer(Protocol):
    def unknown(self, text: str) -> str: ...


def unknown_letters(tokenizer: Tokenizer, texts: Sequence[str], prompt_text: str) -> Iterator[str]:
    """What is not spoken, as warnings. texts: the pieces of one text, which may begin with a description.

    prompt_text: the words of a recording that is continued.

    Raises InputError when more than MAX_SHARE of the letters of the text are unknown.
    """
    parts = [split_control(text) for text in texts]
    said = "".join(body for _, body in parts)
    unknown = "".join(tokenizer.unknown(body) for _, body in parts)
    letters, lost = _count(said), _count(unknown)
    if lost > MAX_SHARE * letters:
        none = "none" if lost == letters else f"{letters - lost} of {letters}"
        raise InputError(
            f"the model knows {none} of the letters of this text ({_shown(unknown)}): name another one with --model"
        )
    if _shown(unknown):
        of = f": {lost} of {counted(letters, 'letter')}" if lost else ""
        yield f"not spoken, the model does not know {_shown(unknown)}{of}"
    if words := _shown(tokenizer.unknown(prompt_text)):
        yield f"the model does not know {words} in the words of the recording"
    if description := _shown(tokenizer.unknown(parts[0][0])):
        yield f"the model does not know {description} in the description of the voice"


def _count(text: str) -> int:
    return sum(unicodedata.category(char)[0] in "LN" for char in text)


def _shown(text: str) -> str:
    """The letters, digits and signs in it, each once. Marks and spaces are no loss."""
    found = [char for char in dict.fromkeys(text) if unicodedata.category(char)[0] in "LNS"]
    more = f" and {len(found) - MAX_SHOWN} more" if len(found) > MAX_SHOWN else ""
    return printable(", ".join(found[:MAX_SHOWN])) + more
