"""Detect dots that do not end a sentence: abbreviations, initials, ordinals, list numbers, in European languages.

The words before and after the dot decide. When in doubt, the sentence continues: a missed end only makes a segment
longer, a wrong end is audible.
"""

from __future__ import annotations

import re

__all__ = ["sentence_continues"]

_MAX_WORD = 24  # characters inspected before a dot


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Abbreviations that are followed by a name or another word.
_BEFORE_WORD = _words(
    """
    mr mrs ms mx dr prof st mt rev gen col lt sgt capt maj adm gov sen rep hon messrs vs cf viz approx co corp inc
    ltd bros al mme mmes mlle mlles mm mgr pr ste bd bld éd env ex sr sra srta srs dra ud uds pág págs núm aprox ee
    sig sigg dott ing avv arch geom exmo exma hr hrn fr frl dipl mag bzw bspw sog evtl ggf vgl inkl exkl zzgl insb
    geb gest mio mrd tsd dhr mevr bijv med phil jur nat habil np tzn tj godz św ul inż např tzv resp sv dvs kl pl kb
    ún vb ул им стр гл рис см проф акад тов гр оз пос млн млрд руб коп гос напр ок св пл просп наб корп кв обл вул
    """  # noqa: RUF001
)
# Abbreviations that are followed by a number.
_BEFORE_NUMBER = _words(
    """
    no nos nr nrs vol vols p pp pg ch chap sec fig figs eq art ca jan feb mar apr jun jul aug sep sept oct nov dec
    okt dez janv févr avr juil déc ene abr ago dic abs abb tab kap bd jg ziff anm aufl str tel s seq par т ч п ст
    разд
    """
)
# Words before an ordinal in German ("am 3. Mai"), and words that follow one.
_BEFORE_ORDINAL = _words(
    """
    am der die das dem den des im vom zum zur beim ab bis seit und oder ins jeder jede jeden jedem ihr ihre ihrem ihren
    sein seine seinem seinen mein meine meinem meinen für nach vor
    """
)
_AFTER_ORDINAL = _words(
    "januar jänner februar feber märz april mai juni juli august september oktober november dezember jahrhundert "
    "jahrhunderts jahrtausend weltkrieg weltkriegs weltkrieges stock etage klasse platz lebensjahr auflage liga "
    "semester quartal geburtstag jahrestag hochzeitstag spieltag bezirk armee division"
)
_HOURS = _words("a.m p.m")
APOSTROPHES = ("'", "\u2019")  # I don't. He does.
_NEXT_WORD = re.compile(r"\s{0,20}([^\W_]{0,20})")


def sentence_continues(text: str, dot: int) -> bool:
    """Return whether the sentence continues after the dot at index `dot`."""
    word = _word_before(text, dot)
    if not word or text[dot - len(word) - 1 : dot - len(word)] in APOSTROPHES:
        return False
    following = _NEXT_WORD.match(text, dot + 1)[1]  # type: ignore[index]
    if word.isdecimal():
        return len(word) <= 3 and _is_ordinal(text, dot - len(word), following)
    lower = word.casefold()
    if _expects_number(lower):
        if following[:1].isdecimal():
            return True
        return len(word) == 1
    if "." in word:  # e.g, z.B, U.S
        return lower not in _HOURS and all(len(part) == 1 and part.isalpha() for part in word.split("."))
    if len(word) == 1:
        return word != "I" and word.isalpha()
    return lower in _BEFORE_WORD


def _is_ordinal(text: str, start: int, following: str) -> bool:
    """Return whether the number that begins at `start` and ends in a dot is an ordinal or a list number.

    following: the next word.
    """
    before = text[max(0, start - _MAX_WORD) : start].rstrip(" ")
    if not before or before[-1] in "\n\ue001\ue002":
        return True
    if before[-1] in ".!?:":
        return not _expects_number(_word_before(before, len(before) - 1).casefold())  # "vol. 2." ends a sentence
    if following.casefold() in _AFTER_ORDINAL and following[:1].isupper():
        return True
    word = _word_before(before, len(before))
    if word.casefold() not in _BEFORE_ORDINAL:
        return False
    return not (word == "am" and _word_before(before, len(before) - len(word) - 1) == "I")


def _expects_number(word: str) -> bool:
    """Return whether a number is expected after the word: vol. 2, Hauptstr. 7."""
    return word in _BEFORE_NUMBER or word.endswith("str")


def _word_before(text: str, end: int) -> str:
    """Return the letters and digits before `end`, including dots among them."""
    start, first = end, max(0, end - _MAX_WORD)
    while start > first:
        char = text[start - 1]
        if not (char.isalnum() or (char == "." and start < end and start > 1 and text[start - 2].isalnum())):
            break
        start -= 1
    return text[start:end]
