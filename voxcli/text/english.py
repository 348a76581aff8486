"""Rewrite written forms of English that wetext's grammar reads wrong into words, or into forms that it reads right.

Each rule fixes a measured fault of wetext 0.1.8: "1,234" lost its "one", "1000" became "ten hundred", "555-1234" a
range, "1990s" seconds, "2.0.3" half a number, "5 m/s" minutes, "24/7" a fraction, "$3.75bn" cents. inflect spells the
plain numbers.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from voxcli.text.englishmoney import rewrite_money
from voxcli.text.englishunits import rewrite_units
from voxcli.text.numerals import join_groups
from voxcli.text.roman import rewrite_roman

__all__ = ["LEFT", "needs_words", "rewrite_english"]

Spell = Callable[[int], str]

LEFT = "\ue100"  # stands before and after figures that are left as written; texts have no private characters

_NEEDED = re.compile(
    r"[0-9%$\u20ac\u00a3\u00a5\uffe5\u20b9\u00b0\u2103\u00bd\u00bc\u00be]|\bSt\. |\b[A-Z][a-z]+\.? [IVX]+\b"
)
_DECADES = "hundreds tens twenties thirties forties fifties sixties seventies eighties nineties"
_MONTHS = (
    r"(?P<month>January|February|March|April|May|June|July|August|September|October|November|December"
    r"|(?:Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)\.?)"
)
_ABBREVIATED = {
    "p": "page", "pp": "pages", "vol": "volume", "vols": "volumes", "fig": "figure", "figs": "figures",
    "ch": "chapter", "approx": "approximately", "ca": "about", "no": "number", "nos": "numbers", "sec": "section",
    "art": "article",
}  # fmt: skip
_FRACTIONS = {
    "\u00bd": "1/2", "\u2153": "1/3", "\u2154": "2/3", "\u00bc": "1/4", "\u00be": "3/4", "\u2155": "1/5",
    "\u2156": "2/5", "\u2157": "3/5", "\u2158": "4/5", "\u2159": "1/6", "\u215a": "5/6", "\u215b": "1/8",
    "\u215c": "3/8", "\u215d": "5/8", "\u215e": "7/8",
}  # fmt: skip
_MONTH_NAMES = _MONTHS.removeprefix("(?P<month>").partition("|(?:")[0].split("|")
_DENOMINATORS = {2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 16, 20, 32, 64, 100}

_NUMBER = r"\d+(?:\.\d+)?"
_LARGE = {"K": "thousand", "M": "million", "B": "billion"}
_COMPARED = {
    ">=": "at least",
    "<=": "at most",
    "\u2265": "at least",
    "\u2264": "at most",
    "~": "about",
    ">": "more than",
    "<": "less than",
    "\u00b1": "plus or minus",
}
_COMPARISON = re.compile(r"(?<![\w~<>=])([<>]=|[~<>\u00b1\u2264\u2265]) ?(?=\d)")
_NUMBER_SIGN = re.compile(r"(?:\b(No|Nos)\.? ?|#)(?=\d)")
_ABBREVIATION = re.compile(r"\b(pp?|[Vv]ols?|[Ff]igs?|[Cc]h|[Aa]pprox|ca|[Nn]os?|[Ss]ec|[Aa]rt)\. ?(?=\d)")
_FRACTION = re.compile(rf"((?<=\d) ?)?([{''.join(_FRACTIONS)}])")
_INTERNATIONAL = re.compile(r"(?<![\w+])\+(?=\d)[\d()]+(?:[ .-][\d()]+){1,5}(?![\w-])")
_LOCAL_PHONE = re.compile(r"(?<![\w.-])(?:0\d{2,4} \d{3,4} \d{3,4}|[2-9]\d\d \d{3} \d{4})(?![\w:/-]|\.\d)")
_PHONE = re.compile(r"(?<![\w.-])(?:\d{1,3}[ -])?(?:\(\d{3}\) ?|\d{3}[-.])?\d{3}[-.]\d{4}(?![\w-])")
_EMERGENCY = re.compile(r"\b([Cc]all(?:ed|s)?|[Dd]ial(?:ed|s)?|[Rr]ing) (\d{3})(?![\w,.:/-]*\d)")
_ADDRESS = re.compile(r"(?<![\w.])\d{1,3}(?:\.\d{1,3}){3}(?![\w.]*\d)")
_VERSION = re.compile(rf"(?<!{LEFT})\b(?:v(?=\d))?(\d+(?:\.\d+){{2,}})\b", re.ASCII)
_NAMED_VERSION = re.compile(
    r"\b(v|[Vv]ersion |[Rr]elease |Python |iOS |Android |macOS |Java )(\d+)\.(\d{1,2})\b(?!\.\d)"
)
_SHORT_VERSION = re.compile(r"\bv(?=\d)")
_DOTTED = re.compile(r"(?<![\w.,])\d{1,3}(?:\.000)+(?![\w.])|(?<![\w.,])\d{1,3}(?:\.\d{3}){2,}(?![\w.])")
_GROUPED = re.compile(r"(?<![\w.,])\d{1,3}(?:,\d{3})+(?:\.\d+)?(?![\d,]*\d)")
_WORDS = "and|or|is|to|in|of|for|by|as|at|the|was|on|but|per|are|we|it|he|out|so|if|I|a|an|not|had|has|all"
# No match before a unit, because the grammar reads a number together with its unit.
_DECIMAL = re.compile(
    rf"(?<![\w.:/,-])(\d+)\.(\d+)(?![\w:/\u00b0%]|\.\w|-\d| ?[\u00b0%\u00b5]| (?!(?:{_WORDS})\b)[A-Za-z]{{1,3}}\b)"
)
_DISCS = re.compile(
    r"(?<![\w.,:/-])(\d{1,4})((?:CD|DVD)s?|[A-Z]s)\b"
)  # the grammar reads CD as candela, Ps as petasecond
_TIMES = re.compile(r"(?<![\w.:/,-])([0-2]?\d:[0-5]\d) ?- ?(?=[0-2]?\d:[0-5]\d(?![:\d]))")
_MIDNIGHT = re.compile(
    r"(?:(?<=\b[Aa]t )|(?<=\b[Bb]y )|(?<=\b[Tt]o )|(?<=\b[Ff]rom )|(?<=\b[Uu]ntil )|(?<=\b[Tt]ill )|(?<=\b[Aa]fter )"
    r"|(?<=\b[Bb]efore )|(?<=\b[Ss]ince ))(?:00|24):00(?![:\d])"
)
_FULL_HOUR = re.compile(r"(?<![\w.:/,])(1[3-9]|2[0-3]):00(?![:\d]|\.\d)")
_SIZE = re.compile(r"(?<![\w.,:/-])(\d{1,5}) ?[x\u00d7] ?(?=\d{1,5}(?![\w.,/-]*\d|[A-Za-z]))")
_OF = re.compile(r"\b([Pp]age|[Pp]art|[Ss]tep|[Dd]ay|[Ll]evel|[Cc]hapter|[Ss]lide) (\d{1,4})/(\d{1,4})(?![\w/])")
_ORDINALS = re.compile(r"(?<![\w.,/-])(\d{1,4})(?:st|nd|rd|th) ?- ?(\d{1,4})(?:st|nd|rd|th)\b")
_PLUS = re.compile(r"(?<=\d)\+(?=[\s,.;:!?)]|$)")
_DISPLAYED_ZERO = re.compile(r"(?<![\w.:/,-])00:00(?![:\d])")
_CENTURY_DECADE = re.compile(r"\b(1\d|20)(\d)0'?s\b")
_DECADE = re.compile(r"(?<![\w'.])'?([2-9])0s\b")
_YEARS = re.compile(r"(?<![\w.:/-])(1[1-9]\d\d|20\d\d)-(1[1-9]\d\d|20\d\d|\d\d)(?![\w:/-]|\.\d)")
_RANGE = re.compile(
    rf"(?<![\w.:/-])({_NUMBER})-({_NUMBER})(?= ?(?:%|\u00b0|percent|[kcm]?m\b|k?g\b|lbs?\b|mph\b|years?\b))"
)
_OLD_YEAR = re.compile(
    r"\b([Ii]n|[Ss]ince|[Uu]ntil|[Bb]y|[Bb]efore|[Aa]fter|[Yy]ear|AD|A\.D\.) (10\d\d)(?![\w:/-]|[.,]\d)"
)
_LONG = re.compile(r"(?<![\w.:/,-])\d{4,15}(?![\w:/-]|[.,]\d)")
_MIXED = re.compile(r"(?<![\w.,/])(\d+) (\d{1,2}/\d{1,3})(?![\w/])")
_SLASHED = re.compile(r"(?<![\w.,/:-])(\d{1,3})/(\d{1,3})(?![\w/]|\.\d|-\d)")
_MONTH_DAY = re.compile(
    rf"\b{_MONTHS} (?P<day>[12]?\d|3[01])(?:st|nd|rd|th)?(?![\w:/%-]|\.\d|,\d)(?! (?:percent|million|people))"
)
_DAY_MONTH = re.compile(
    rf"(?<![\w.,:/-])(?P<day>[12]?\d|3[01])(?:st|nd|rd|th)? {_MONTHS}(?=\W|$)(?! \d{{1,2}}\b(?!\d))"
)
_NUMERIC_DATE = re.compile(r"(?<![\w.,:/-])(\d\d?)([/.-])(\d\d?)\2(\d{4}|(?<=/)\d\d)(?![\w/-]|[.,]\d)")
_SAINT = re.compile(r"(?:(?<=^)|(?<=[^\w] )|(?<=\b[a-z] )|(?<=[a-z0-9(\"'] ))(?<![A-Z][a-z] )St\. (?=[A-Z])")
_STREET = re.compile(r"\b([A-Z][a-z]+|\d+(?:st|nd|rd|th)) St\.(?=[\s,;)]|$)")


def needs_words(text: str) -> bool:
    """Return whether `text` may contain something that `rewrite_english` or the grammar spells out."""
    return bool(_NEEDED.search(text))


def rewrite_english(text: str, spell: Spell) -> str:
    """Return `text` with these forms rewritten. spell: whole number -> words."""
    text = _NUMERIC_DATE.sub(_numeric_date, text)
    text = rewrite_roman(_names(_plain_forms(text, spell)), spell)
    text = _INTERNATIONAL.sub(lambda m: f"plus {_digit_by_digit(m[0])}", text)
    text = _PHONE.sub(lambda m: _digit_by_digit(m[0]), text)
    text = _LOCAL_PHONE.sub(lambda m: _digit_by_digit(m[0]), text)
    text = _EMERGENCY.sub(lambda m: f"{m[1]} {' '.join(m[2])}", text)
    text = _fractions(rewrite_money(text, spell), spell)
    text = _numbers(_dates(_units(text), spell), spell)
    return _LONG.sub(lambda m: _long(m[0], spell), text)


def _plain_forms(text: str, spell: Spell) -> str:
    """Simplify forms so that the later rules match them."""
    text = _DISCS.sub(lambda m: f"{spell(int(m[1]))} {m[2]}", join_groups(text, ","))
    text = _TIMES.sub(r"\1 to ", text)
    text = _MIDNIGHT.sub("midnight", text)
    text = _DISPLAYED_ZERO.sub(f"{LEFT}00:00{LEFT}", text)  # of a clock or of a stopwatch
    text = _FULL_HOUR.sub(lambda m: f"{spell(int(m[1]))} hundred", text)
    text = _ORDINALS.sub(lambda m: f"{_ordinal(int(m[1]), spell)} to {_ordinal(int(m[2]), spell)}", text)
    text = _OF.sub(r"\1 \2 of \3", _SIZE.sub(r"\1 by ", text))
    text = _PLUS.sub(" plus", text)
    text = re.sub(r"\bU\.S\. ?(?=\$\d)", "US", text)
    text = re.sub(r"(?<!\w)(\$[\d,.]*\d) USD\b", r"US\1", text)
    text = re.sub(r"([$\u20ac\u00a3])\.(?=\d)", r"\g<1>0.", text)
    text = re.sub(r"(?<=[\dkmnMB])-(?=[$\u20ac\u00a3]\d)", " to ", text)
    text = re.sub(r"(?<![\w.,-])(\d+(?:\.\d+)?)%-(?=\d+(?:\.\d+)?%)", r"\1 to ", text)
    text = re.sub(r"(?<![\w.:/,-])(24|50|9)-(7|50|11)(?![\w:/-])", _with_slash, text)
    text = re.sub(r"(?<=[A-Za-z])-(?=\d+\.\d)", " ", text)
    text = re.sub(r"(?<=/\d)-(?=[a-z])", " ", text)
    text = re.sub(r"(?<![\w.,$\u20ac\u00a3])(\d+\.\d+)([MBK])\b", lambda m: f"{m[1]} {_LARGE[m[2]]}", text)
    return re.sub(
        r"(?<![\w.,/-])(\d{1,4})(?:st|nd|rd|th)-(?=[A-Za-z])", lambda m: f"{_ordinal(int(m[1]), spell)}-", text
    )


def _with_slash(match: re.Match[str]) -> str:
    """Write "24-7" and "50-50", which are not ranges, with a slash."""
    return f"{match[1]}/{match[2]}" if match[0] in ("24-7", "50-50") else match[0]


def _names(text: str) -> str:
    text = _STREET.sub(lambda m: f"{m[1]} Street{_street_end(m)}", text)
    text = _SAINT.sub("Saint ", text)
    text = _NUMBER_SIGN.sub(lambda m: f"{_ABBREVIATED[m[1].lower()] if m[1] else 'number'} ", text)
    return _ABBREVIATION.sub(lambda m: f"{_as_written(_ABBREVIATED[m[1].lower()], m[1])} ", text)


def _as_written(word: str, written: str) -> str:
    return word.capitalize() if written[0].isupper() else word


def _street_end(match: re.Match[str]) -> str:
    """Return the full stop if it also ends a sentence."""
    after = match.string[match.end() : match.end() + 2].strip()
    return "." if not after or after.isupper() else ""


def _units(text: str) -> str:
    text = _RANGE.sub(r"\1 to \2", rewrite_units(text))
    text = _COMPARISON.sub(lambda m: f"{_COMPARED[m[1]]} ", text)
    return re.sub(r"(?<=\d)\^(?=-?\d)", " to the power of ", text)


def _dates(text: str, spell: Spell) -> str:
    text = _DAY_MONTH.sub(lambda m: f"{_article(m)}{_ordinal(int(m['day']), spell)} of {m['month']}", text)
    text = _MONTH_DAY.sub(lambda m: f"{m['month']} {_ordinal(int(m['day']), spell)}", text)
    text = _CENTURY_DECADE.sub(_century_decade, text)
    text = _DECADE.sub(lambda m: _DECADES.split()[int(m[1])], text)
    text = _YEARS.sub(lambda m: f"{_year(m[1], spell)} to {_year(m[2], spell)}", text)
    return _OLD_YEAR.sub(lambda m: f"{m[1]} {_year(m[2], spell)}", text)


def _numeric_date(match: re.Match[str]) -> str:
    """Name the month of a date in numbers; leave as written where the month may come first or second: 5/6/2024."""
    first, second = int(match[1]), int(match[3])
    day, month = (first, second) if first > 12 or first == second else (second, first)
    if not (0 < month <= 12 and 0 < day <= 31):
        return match[0]
    if (day <= 12 and day != month) or len(match[4]) == 2:
        return f"{LEFT}{match[0]}{LEFT}"
    return f"{day} {_MONTH_NAMES[month - 1]} {match[4]}"


def _article(match: re.Match[str]) -> str:
    return "" if re.search(r"\b[Tt]he $", match.string[max(0, match.start() - 5) : match.start()]) else "the "


def _numbers(text: str, spell: Spell) -> str:
    text = _ADDRESS.sub(lambda m: " dot ".join(spell(int(part)) for part in m[0].split(".")), text)
    text = _DOTTED.sub(lambda m: spell(int(m[0].replace(".", ""))), text)
    text = _NAMED_VERSION.sub(lambda m: f"{_version(m[1])}{spell(int(m[2]))} point {_minor(m[3], spell)}", text)
    text = _VERSION.sub(lambda m: _whole_version(m, spell), text)
    text = _SHORT_VERSION.sub("version ", text)
    text = _GROUPED.sub(lambda m: _grouped(m[0], spell), text)
    text = re.sub(r"(?<=\d),(?=\d)", ", ", text)  # not a grouped number: "1,5"
    return _DECIMAL.sub(lambda m: _decimal(m[1], m[2], spell), text)


def _grouped(written: str, spell: Spell) -> str:
    whole, _, rest = written.replace(",", "").partition(".")
    return _decimal(whole, rest, spell)


def _version(word: str) -> str:
    return "version " if word == "v" else word


def _whole_version(match: re.Match[str], spell: Spell) -> str:
    named = "version " if match[0][0] == "v" else ""
    return named + " point ".join(spell(int(part)) for part in match[1].split("."))


def _minor(digits: str, spell: Spell) -> str:
    return spell(int(digits)) if digits[0] != "0" else " ".join(spell(int(digit)) for digit in digits)


def _decimal(whole: str, rest: str, spell: Spell) -> str:
    words = spell(int(whole)) if len(whole) < 16 else " ".join(spell(int(digit)) for digit in whole)
    return f"{words} point {' '.join(spell(int(digit)) for digit in rest)}" if rest else words


def _fractions(text: str, spell: Spell) -> str:
    text = _FRACTION.sub(lambda m: f"{' ' * (m[1] is not None)}{_FRACTIONS[m[2]]}", text)
    text = re.sub(r"(?<![\w.,/])24/7(?![\w/])", "twenty four seven", text)
    text = re.sub(r"(?<![\w.,/])9/11(?![\w/])", "nine eleven", text)
    text = _MIXED.sub(r"\1 and \2", text)
    return _SLASHED.sub(lambda m: _slashed(m, spell), text)


def _slashed(match: re.Match[str], spell: Spell) -> str:
    """Leave fractions to the grammar; leave as written what may be a date, a score or a quotient; spell 50/50."""
    top, bottom = int(match[1]), int(match[2])
    dated = 0 < top <= 31 and 0 < bottom <= 31 and (top != bottom or top <= 12)
    if match[1][0] == "0" or match[2][0] == "0":
        return f"{LEFT}{match[0]}{LEFT}"
    if top < bottom and bottom in _DENOMINATORS:
        return match[0]
    return f"{LEFT}{match[0]}{LEFT}" if dated else f"{spell(top)} {spell(bottom)}"


def _century_decade(match: re.Match[str]) -> str:
    if match[1] == "20" and match[2] == "0":
        return "two thousands"
    return f"{match[1]} {_DECADES.split()[int(match[2])]}"


def _ordinal(number: int, spell: Spell) -> str:
    head, _, last = spell(number).rpartition(" ")
    irregular = {
        "one": "first", "two": "second", "three": "third", "five": "fifth", "eight": "eighth", "nine": "ninth",
        "twelve": "twelfth",
    }  # fmt: skip
    word = irregular.get(last) or (f"{last[:-1]}ieth" if last.endswith("y") else f"{last}th")
    return f"{head} {word}" if head else word


def _year(digits: str, spell: Spell) -> str:
    """Return a year as it is read, also the "95" of "1990-95"."""
    if len(digits) == 2:
        return spell(int(digits)) if digits[0] != "0" else f"oh {spell(int(digits[1]))}"
    century, rest = int(digits[:2]), int(digits[2:])
    if century == 20 and rest < 10:
        return spell(int(digits)).replace(" and ", " ")
    if rest == 0:
        return f"{spell(century)} hundred"
    return f"{spell(century)} {'oh ' * (rest < 10)}{spell(rest)}"


def _long(digits: str, spell: Spell) -> str:
    if digits.startswith("0"):
        return digits
    is_year = len(digits) == 4 and 1100 <= int(digits) <= 2099
    return _year(digits, spell) if is_year else spell(int(digits))


def _digit_by_digit(number: str) -> str:
    return ", ".join(" ".join(group) for group in re.findall(r"\d+", number))
