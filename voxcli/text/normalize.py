"""Spell numbers, dates, times, money, units and addresses, in the language of each sentence.

English, Chinese and Japanese use the grammars of wetext (Apache-2.0), like the reference package of VoxCPM, with plain
English numbers spelled by inflect (MIT). The languages of locales.yaml use `foreign`, with the words of unicode-rbnf
(MIT). These packages come with the extra `normalize`. Numbers in other languages, and numbers that no rule is certain
about, stay as written and are reported. {Phonemes} and [tags] also stay.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import groupby, pairwise

from voxcli.text.boundaries import Strength, boundaries
from voxcli.text.english import LEFT, needs_words, rewrite_english
from voxcli.text.foreign import spell_numbers
from voxcli.text.guess import NOT_LATIN, possible_languages
from voxcli.text.languages import language_name
from voxcli.text.locales import localized
from voxcli.text.numerals import package
from voxcli.text.rewrites import rewrite_chinese

__all__ = ["check_installed", "left_as_written", "normalize"]

# Phonemes, tags, and the breaks between paragraphs.
_KEPT = re.compile(r"(\{[^{}]*\}|\[[^\[\]]*\]|(?<!\s)\s*\n\s*)")
_ADDRESS = re.compile(r"(?:https?://|www\.)[!-~]*[\w/]|(?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)+", re.ASCII)
_FIGURES = re.compile("[0-9%$\u20ac\u00a3\u00a5\uffe5\u20bd\u20ba\u00b0\u2103\u2030]")
# "No." that is left after the rewriting is an answer, not "number".
_UNCHANGED = re.compile(rf"(\bNo\.|{LEFT}[^{LEFT}]*{LEFT})")
_FIGURE = re.compile(r"[0-9]+")
_HAN = re.compile("[\u4e00-\u9fff]")
# Kana, Hangul, and every other script but Latin and Han.
_OTHER_SCRIPT = re.compile("[\u0370-\u1cff\u1f00-\u1fff\u3041-\u30ff\u3130-\u318f\ua000-\ud7ff]")
MAX_LEFT = 5  # maximum number of figures in a warning


def normalize(text: str, languages: frozenset[str] = frozenset()) -> str:
    """Return clean `text` as it is spoken.

    languages: those that the whole text can be in. A single one applies to all sentences not clearly in another.
               Without one, a sentence is Chinese if it has Chinese characters, otherwise English.

    Raises MissingExtra if a package of the extra `normalize` is needed and not installed.

    >>> normalize("It costs $5.20.")
    'It costs five dollars and twenty cents.'
    >>> normalize("Das kostet 5,20 \u20ac.", frozenset({"de"}))
    'Das kostet fünf Euro zwanzig.'
    """
    parts: list[str] = []
    for index, part in enumerate(_KEPT.split(text)):
        parts += [part] if index % 2 else [_spoken(run, language) for run, language in _runs(part, languages)]
    return "".join(parts)


def left_as_written(text: str, languages: frozenset[str] = frozenset()) -> str | None:
    """Return a warning that names the figures left in a normalized `text`; None if there are none."""
    found: dict[str, list[str]] = {}
    for index, part in enumerate(_KEPT.split(text)):
        if index % 2 == 0 and _FIGURES.search(part):
            for run, language in _runs(part, languages):
                words = (word for word in run.split() if _FIGURES.search(word))
                found.setdefault(language, []).extend(word.strip(".,;:!?()\"'") for word in words)
    reports = [_report(language, places) for language, places in found.items() if places]
    return f"left as written: {'; '.join(reports)}" if reports else None


def _report(language: str, places: list[str]) -> str:
    named = ", ".join(list(dict.fromkeys(place[:30] for place in places))[:MAX_LEFT])
    more = ", ..." if len(set(places)) > MAX_LEFT else ""
    why = f"{language_name(language)} has no rule for it" if language else "name the language with `language`"
    return f"{named}{more} ({why})"


def check_installed() -> None:
    """Raise MissingExtra if the packages for English and Chinese are not installed, even if no text needs them."""
    for name in ("wetext", "inflect"):
        package(name)


def _runs(text: str, languages: frozenset[str]) -> Iterator[tuple[str, str]]:
    """Yield parts of `text` with their language, "" for an unknown one. It is decided sentence by sentence."""
    ends = [place for place, strength in boundaries(text).items() if strength == Strength.SENTENCE]
    sentences = [text[a:b] for a, b in pairwise([0, *ends, len(text)])]
    pairs = [(sentence, _language_of(sentence, languages)) for sentence in sentences]
    for language, run in groupby(pairs, key=lambda pair: pair[1]):
        yield "".join(sentence for sentence, _ in run), language


def _language_of(sentence: str, languages: frozenset[str]) -> str:
    if (
        not _FIGURES.search(sentence)
        and not needs_words(sentence)
        and not _ADDRESS.search(sentence)
        and len(languages) == 1
    ):
        return next(iter(languages))  # nothing in it depends on the language
    own = possible_languages(sentence)
    both = own & languages
    if len(both) == 1 or (len(own) == 1 and not both):
        return next(iter(both or own))
    if len(languages) == 1 and (not own or (own.isdisjoint(NOT_LATIN) and languages.isdisjoint(NOT_LATIN))):
        return next(iter(languages))  # which is surely none of several others of its script that share its words
    if _OTHER_SCRIPT.search(sentence):
        return ""
    if _HAN.search(sentence):
        return "zh"
    return "" if own else "en"


def _spoken(text: str, language: str) -> str:
    if language in ("en", "zh") or not language:
        text = _ADDRESS.sub(_address, text) if not _OTHER_SCRIPT.search(text) else text
    if language == "en":
        return _english(text) if needs_words(text) else text
    if not _FIGURES.search(text):
        return text
    if language == "zh":
        return _through(_wetext("zh"), rewrite_chinese(text))
    if language == "ja":
        return _through(_wetext("ja"), text)
    return spell_numbers(text, language) if language in localized() else text


def _english(text: str) -> str:
    parts = _UNCHANGED.split(rewrite_english(text, _spell))
    parts[::2] = [_FIGURE.sub(_figures, _through(_wetext("en"), part)) for part in parts[::2]]
    return "".join(parts).replace(LEFT, "")


def _figures(match: re.Match[str]) -> str:
    """Spell figures that no grammar handles: "x1000a" and the like."""
    return _spell(int(match[0])) if len(match[0]) < 16 else " ".join(map(_spell, map(int, match[0])))


def _address(match: re.Match[str]) -> str:
    spoken = _through(_wetext("en"), re.sub(r"^https?://", "", match[0]).rstrip("/"))
    # Chinese puts no spaces around an address; English words need them.
    text, start, end = match.string, match.start(), match.end()
    before, after = start > 0 and _HAN.match(text, start - 1), _HAN.match(text, end)
    return f"{' ' * bool(before)}{spoken}{' ' * bool(after)}"


def _through(grammar: Callable[[str], str], text: str) -> str:
    """Apply a grammar to `text`, except to its outer white space and its quotes, which wetext would escape."""
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
    normalizer = package("wetext").Normalizer(lang=language, operator="tn")

    def grammar(text: str) -> str:
        spoken: str = normalizer.normalize(text)
        assert spoken, "the grammar has no path for this text"
        return spoken

    return grammar


@lru_cache(maxsize=1)
def _number_words() -> Callable[[int], str]:
    words: Callable[[int], str] = package("inflect").engine().number_to_words
    return words


def _spell(number: int) -> str:
    return _number_words()(number).replace(",", "").replace("-", " ")
