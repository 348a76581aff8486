"""Spell amounts of money in English: "$3.75bn", "US$5", "20 \u20ac", "50\u00a2", "$5-10"."""

from __future__ import annotations

import re
from collections.abc import Callable

__all__ = ["rewrite_money"]

Spell = Callable[[int], str]

# singular, plural; singular and plural of its hundredth part
_POUND = ("pound", "pounds", "penny", "pence")
_EURO = ("euro", "euros", "cent", "cents")
_DOLLAR = ("dollar", "dollars", "cent", "cents")
_PLAIN = {
    "$": _DOLLAR,
    "\u20ac": _EURO,
    "\u00a3": _POUND,
    "\u00a5": ("yen", "yen", "", ""),
    "\uffe5": ("yen", "yen", "", ""),
    "\u20b9": ("rupee", "rupees", "paisa", "paise"),
    "\u20a9": ("won", "won", "", ""),
    "\u20bd": ("ruble", "rubles", "kopeck", "kopecks"),
}
_DOLLARS = {
    "US": "US", "A": "Australian", "AU": "Australian", "C": "Canadian", "CA": "Canadian", "HK": "Hong Kong",
    "NZ": "New Zealand", "S": "Singapore", "SG": "Singapore",
}  # fmt: skip
_CODES = {
    "USD": ("US dollar", "US dollars", "cent", "cents"),
    "EUR": _EURO,
    "GBP": _POUND,
    "JPY": ("yen", "yen", "", ""),
    "CHF": ("Swiss franc", "Swiss francs", "centime", "centimes"),
    "CAD": ("Canadian dollar", "Canadian dollars", "cent", "cents"),
    "AUD": ("Australian dollar", "Australian dollars", "cent", "cents"),
    "CNY": ("yuan", "yuan", "", ""),
    "INR": ("rupee", "rupees", "paisa", "paise"),
}
_MAGNITUDES = {
    "k": "thousand",
    "m": "million",
    "mn": "million",
    "b": "billion",
    "bn": "billion",
    "t": "trillion",
    "tn": "trillion",
}

_SIGN = f"(?:(?<![A-Za-z])(?P<country>{'|'.join(_DOLLARS)})(?=\\$))?(?P<sign>[{''.join(map(re.escape, _PLAIN))}])"
_AMOUNT = r"(?P<whole>\d{1,3}(?:,\d{3})+|\d+)(?:\.(?P<rest>\d+))?"
_LONG = "(?:hundred|thousand|million|billion|trillion)s?"
_MAGNITUDE = rf"(?:(?P<short>[kKmMbBtT]n?)\b| ?(?P<long>{_LONG})\b| ?(?P<short2>bn|tn|mn)\b)?"
_CODE = "|".join(_CODES)
# No digit may follow an amount, not even after a point or a comma.
_BEFORE = re.compile(rf"{_SIGN} ?{_AMOUNT}(?:-(?P=sign)?(?P<up>\d+(?:\.\d+)?))?{_MAGNITUDE}(?![.,]?\d)")
_BEHIND = re.compile(rf"(?<![\w.,$]){_AMOUNT}(?:,(?P<comma>\d\d))? ?(?P<sign>[\u20ac\u00a3\u00a5\u20b9\u20bd])(?!\d)")
_CODE_BEFORE = re.compile(rf"\b(?P<code>{_CODE}) ?{_AMOUNT}{_MAGNITUDE}(?![.,]?\d)")
_CODE_BEHIND = re.compile(rf"(?<![\w.,]){_AMOUNT}{_MAGNITUDE} ?(?P<code>{_CODE})\b")
_CENTS = re.compile(r"(?<![\w.,])(\d+) ?\u00a2")
_PER = re.compile(r"(?<=\d)/(?=(?:hour|hr|day|week|month|mo|year|yr|person|night|kg|lb|mile)s?\b)")


def rewrite_money(text: str, spell: Spell) -> str:
    """Return `text` with amounts of money in words. spell: whole number -> words."""
    text = _PER.sub(" per ", text)
    text = _BEFORE.sub(lambda m: _amount(m, _named(m), spell), text)
    text = _BEHIND.sub(lambda m: _amount(m, _PLAIN[m["sign"]], spell), text)
    text = _CODE_BEFORE.sub(lambda m: _amount(m, _CODES[m["code"]], spell), text)
    text = _CODE_BEHIND.sub(lambda m: _amount(m, _CODES[m["code"]], spell), text)
    return _CENTS.sub(lambda m: f"{spell(int(m[1]))} cent{'s' * (m[1] != '1')}", text)


Names = tuple[str, str, str, str]


def _named(match: re.Match[str]) -> Names:
    one, several, cent, cents = _PLAIN[match["sign"]]
    country = f"{_DOLLARS[match['country']]} " if match["country"] else ""
    return f"{country}{one}", f"{country}{several}", cent, cents


def _amount(match: re.Match[str], names: Names, spell: Spell) -> str:
    groups = match.groupdict()
    whole = match["whole"].replace(",", "")
    rest = match["rest"] or groups.get("comma") or ""
    up = groups.get("up")
    short = groups.get("short") or groups.get("short2")
    magnitude = _MAGNITUDES.get((short or "").lower(), groups.get("long") or "")
    if magnitude or up or len(rest) not in (0, 2) or (rest and not names[2]):
        amount = _number(whole, rest, spell)
        if up:
            amount += f" to {_number(up.partition('.')[0], up.partition('.')[2], spell)}"
        return " ".join(filter(None, (amount, magnitude, names[1])))
    parts = []
    if int(whole) or not int(rest or 0):
        parts.append(f"{_number(whole, '', spell)} {names[int(whole) != 1]}")
    if int(rest or 0):
        parts.append(f"{spell(int(rest))} {names[2 + (int(rest) != 1)]}")
    return " and ".join(parts)


def _number(whole: str, rest: str, spell: Spell) -> str:
    words = spell(int(whole)) if len(whole) < 16 else " ".join(spell(int(digit)) for digit in whole)
    return f"{words} point {' '.join(spell(int(digit)) for digit in rest)}" if rest else words
