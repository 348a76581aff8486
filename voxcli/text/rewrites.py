"""Written forms that wetext's grammars read wrong, rewritten into ones that they, or a listener, get right.

Each rule stands for a measured fault of wetext 0.1.8: "1,234" lost its "one", "1000" became "ten hundred", "555-1234" a
range, "1990s" seconds, "2.0.3" half a number, "GPT-4" (in Chinese) minus four. Words for plain numbers come from
inflect.
"""

from __future__ import annotations

import re
from collections.abc import Callable

__all__ = ["rewrite_chinese", "rewrite_english"]

Say = Callable[[int], str]

_MONEY = {"$": ("dollar", "cent"), "\u20ac": ("euro", "cent"), "\u00a3": ("pound", "penny")}
_DECADES = (
    "hundreds",
    "tens",
    "twenties",
    "thirties",
    "forties",
    "fifties",
    "sixties",
    "seventies",
    "eighties",
    "nineties",
)

_AMOUNT = re.compile(
    r"([$\u20ac\u00a3])(?=(\d+))\2(?:\.(\d\d))?(?![\d.]*\d|[kKmMbB]\b| ?(?:[mbtr]+illion|thousand|hundred)s?\b)"
)
_PER = re.compile(r"([$\u20ac\u00a3][\d.]+)/(?=[a-z])")
_PHONE = re.compile(r"(?<![\w.-])(?:\+?\d{1,3}[ -])?(?:\(\d{3}\) ?|\d{3}-)?\d{3}-\d{4}(?![\w-])")
_VERSION = re.compile(r"\b(?:v(?=\d))?(\d+(?:\.\d+){2,})\b", re.ASCII)
_SHORT_VERSION = re.compile(r"\bv(?=\d)")
_CENTURY_DECADE = re.compile(r"\b(1\d|20)(\d)0s\b")
_DECADE = re.compile(r"(?<![\w'.])'?([2-9])0s\b")
_YEARS = re.compile(r"\b(1[1-9]\d\d|20\d\d)-(1[1-9]\d\d|20\d\d)\b")
_FEET = re.compile(r"\b(\d)'(\d{1,2})\"")
_GROUPED = re.compile(r"\b\d{1,3}(?:,\d{3})+\b", re.ASCII)  # ASCII: Han and digits meet without a space
_LONG = re.compile(r"(?<![\w.:/-])\d{4,15}(?![\w:/-]|\.\d)")


def rewrite_english(text: str, say: Say) -> str:
    """`say` gives the words of a whole number."""
    text = _GROUPED.sub(lambda m: m[0].replace(",", ""), text)
    text = _PHONE.sub(lambda m: _digit_by_digit(m[0]), text)
    text = _AMOUNT.sub(lambda m: _amount(m, say), _PER.sub(r"\1 per ", text))
    text = _VERSION.sub(lambda m: m[1].replace(".", " point "), text)
    text = _SHORT_VERSION.sub("version ", text)
    text = _CENTURY_DECADE.sub(_century_decade, text)
    text = _DECADE.sub(lambda m: _DECADES[int(m[1])], text)
    text = _YEARS.sub(r"\1 to \2", text)
    text = _FEET.sub(r"\1 feet \2 inches", text)
    text = re.sub(r"\bNo\. ?(?=\d)", "number ", re.sub(r"#(?=\d)", "number ", text))
    return _LONG.sub(lambda m: m[0] if _is_year(m[0]) or m[0].startswith("0") else say(int(m[0])), text)


def rewrite_chinese(text: str) -> str:
    """As `rewrite_english`; wetext's Chinese grammar needs less help."""
    text = _GROUPED.sub(lambda m: m[0].replace(",", ""), text)
    text = _VERSION.sub(lambda m: m[0].replace(".", "\u70b9") if m[0][0] == "v" or not _is_date(m[1]) else m[0], text)
    text = re.sub(r"(?<=[A-Za-z])-(?=\d)", " ", text)
    return re.sub(r"(?<=\d%)-(?=\d)", "~", text)


def _amount(match: re.Match[str], say: Say) -> str:
    (major, minor), whole, rest = _MONEY[match[1]], int(match[2]), int(match[3] or 0)
    parts = []
    if whole or not rest:
        parts.append(f"{say(whole)} {major}{'' if whole == 1 else 's'}")
    if rest:
        plural = "pence" if minor == "penny" else minor + "s"
        parts.append(f"{say(rest)} {minor if rest == 1 else plural}")
    return " and ".join(parts)


def _century_decade(match: re.Match[str]) -> str:
    if match[1] == "20" and match[2] == "0":
        return "two thousands"
    return f"{match[1]} {_DECADES[int(match[2])]}"


def _digit_by_digit(number: str) -> str:
    return ", ".join(" ".join(group) for group in re.findall(r"\d+", number))


def _is_year(number: str) -> bool:
    return len(number) == 4 and 1100 <= int(number) <= 2099


def _is_date(number: str) -> bool:
    return bool(re.fullmatch(r"(?:1[1-9]|20)\d\d\.\d{1,2}\.\d{1,2}", number))
