"""Numbers, dates, times, money, units, addresses -> the words a reader says. English and Chinese, on request only.

The grammars are those of wetext (Apache-2.0), which the reference package of VoxCPM uses too, with words for plain
numbers from inflect (MIT); both come with the extra `normalize`. Text in Latin letters is read as English. Sentences
in other scripts stay as they are, as do a leading "(description)", {phonemes} and [tags].
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from importlib import import_module
from itertools import pairwise
from typing import Any

from voxcli.errors import InputError
from voxcli.extras import install_hint
from voxcli.text.boundaries import Strength, boundaries
from voxcli.text.clean import split_control
from voxcli.text.rewrites import rewrite_chinese, rewrite_english

__all__ = ["check_installed", "normalize"]

# Phonemes, tags, and the breaks between paragraphs.
_KEPT = re.compile(r"(\{[^{}]*\}|\[[^\[\]]*\]|(?<!\s)\s*\n\s*)")
_ADDRESS = re.compile(r"(?:https?://|www\.)[!-~]*[\w/]|(?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)+", re.ASCII)
_UNSPOKEN = re.compile(r"[0-9%$\u20ac\u00a3\u00a5\uffe5\u00b0\u2103]")
_HAN = re.compile("[\u4e00-\u9fff]")
# Kana, Hangul, and every other script whose readers would not say these numbers in English or Chinese.
_FOREIGN = re.compile("[\u0370-\u1fff\u3040-\u30ff\u3130-\u318f\ua000-\ud7ff]")


def normalize(text: str) -> str:
    """Return `text` (cleaned) as it is spoken. Raises InputError when the extra `normalize` is not installed.

    >>> normalize("It costs $5.20.")
    'It costs five dollars and twenty cents.'
    """
    body = split_control(text)[1]
    head = text[: len(text) - len(body)]
    parts = _KEPT.split(body)
    parts[::2] = [_sentences(part) for part in parts[::2]]
    return head + "".join(parts)


def check_installed() -> None:
    """Raises InputError when the extra `normalize` is not installed, whether or not a text needs it."""
    for name in ("wetext", "inflect"):
        _package(name)


def _sentences(text: str) -> str:
    """Each sentence by itself: its language decides how its numbers are said."""
    ends = [place for place, strength in boundaries(text).items() if strength == Strength.SENTENCE]
    return "".join(_sentence(text[a:b]) for a, b in pairwise([0, *ends, len(text)]))


def _sentence(text: str) -> str:
    if _FOREIGN.search(text):
        return text
    text = _ADDRESS.sub(_address, text)
    if not _UNSPOKEN.search(text):
        return text
    if _HAN.search(text):
        return _through(_wetext("zh"), rewrite_chinese(text))
    text = _through(_wetext("en"), rewrite_english(text, _say))
    # What no grammar knew: "x1000a" and the like.
    return re.sub(r"[0-9]+", lambda m: _say(int(m[0])) if len(m[0]) < 16 else " ".join(map(_say, map(int, m[0]))), text)


def _address(match: re.Match[str]) -> str:
    spoken = _through(_wetext("en"), re.sub(r"^https?://", "", match[0]).rstrip("/"))
    # Chinese puts no spaces around an address; English words need them.
    text, start, end = match.string, match.start(), match.end()
    before, after = start > 0 and _HAN.match(text, start - 1), _HAN.match(text, end)
    return f"{' ' * bool(before)}{spoken}{' ' * bool(after)}"


def _through(grammar: Callable[[str], str], text: str) -> str:
    """`text` through a grammar, white space at its ends kept. Quotes go around it: wetext puts a backslash before
    them.
    """
    if '"' in text:
        return '"'.join(_through(grammar, part) for part in text.split('"'))
    core = text.strip()
    if not core:
        return text
    try:
        spoken = grammar(core)
    except Exception:  # wetext asserts on characters that its grammar does not have
        words = re.split(r"(\s+)", core)
        spoken = "".join(_through(grammar, word) for word in words) if len(words) > 1 else core
    return text.replace(core, spoken, 1)


@lru_cache
def _wetext(language: str) -> Callable[[str], str]:
    normalizer = _package("wetext").Normalizer(lang=language, operator="tn")

    def grammar(text: str) -> str:
        spoken: str = normalizer.normalize(text)
        assert spoken, "the grammar has no path for this text"
        return spoken

    return grammar


@lru_cache(maxsize=1)
def _number_words() -> Callable[[int], str]:
    words: Callable[[int], str] = _package("inflect").engine().number_to_words
    return words


def _say(number: int) -> str:
    return _number_words()(number).replace(",", "").replace("-", " ")


def _package(name: str) -> Any:
    """Loaded when first needed: the grammars take half a second."""
    try:
        return import_module(name)
    except ImportError as error:
        raise InputError(f"normalizing needs two more packages: {install_hint('normalize')}") from error
