"""Units after English numbers in words: "5 m/s", "3 kg/m", "9.81 m/s2", "60 W", "5 ft 10 in", "1h 30m"."""

from __future__ import annotations

import re

__all__ = ["rewrite_units"]

_NUMBER = r"(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?"
_UNITS = {
    "V": "volt", "kV": "kilovolt", "mV": "millivolt", "W": "watt", "kW": "kilowatt", "MW": "megawatt",
    "GW": "gigawatt", "kWh": "kilowatt hour", "MWh": "megawatt hour", "mAh": "milliamp hour", "mA": "milliamp",
    "Hz": "hertz", "dB": "decibel", "L": "liter", "cal": "calorie", "kcal": "kilocalorie", "kJ": "kilojoule",
    "kPa": "kilopascal", "ppm": "part per million", "rpm": "revolution per minute", "mpg": "mile per gallon",
    "yd": "yard", "m": "meter", "km": "kilometer", "cm": "centimeter", "mm": "millimeter", "kg": "kilogram",
    "g": "gram", "ml": "milliliter", "mi": "mile", "ft": "foot", "lb": "pound", "lbs": "pound", "oz": "ounce",
    "mph": "mile per hour", "kB": "kilobyte", "MB": "megabyte", "GB": "gigabyte", "TB": "terabyte", "Mb": "megabit",
    "Gb": "gigabit",
    "hr": "hour", "hrs": "hour", "tbsp": "tablespoon", "tsp": "teaspoon", "sq ft": "square foot", "\u2030": "per mille",
}  # fmt: skip
_ABOVE = {
    "m": "meter", "km": "kilometer", "cm": "centimeter", "mm": "millimeter", "ft": "foot", "mi": "mile",
    "l": "liter", "L": "liter", "ml": "milliliter", "mL": "milliliter", "g": "gram", "kg": "kilogram",
    "mg": "milligram", "N": "newton", "kN": "kilonewton", "J": "joule", "kJ": "kilojoule", "W": "watt",
    "kW": "kilowatt", "V": "volt", "A": "ampere", "bit": "bit", "kbit": "kilobit", "Mbit": "megabit", "Gbit": "gigabit",
    "kB": "kilobyte", "MB": "megabyte", "GB": "gigabyte", "mol": "mole",
}  # fmt: skip
_BELOW = {
    "s": "second", "min": "minute", "h": "hour", "m": "meter", "km": "kilometer", "cm": "centimeter", "l": "liter",
    "L": "liter", "dl": "deciliter", "dL": "deciliter", "kg": "kilogram", "g": "gram", "mol": "mole", "K": "kelvin",
}  # fmt: skip
_POWERS = {"": "{}", "2": "square {}", "3": "cubic {}"}
_RAISED = {"\u00b2": "2", "\u00b3": "3"}


def _any_of(names: dict[str, str]) -> str:
    return "|".join(sorted(map(re.escape, names), key=len, reverse=True))


_QUOTIENT = re.compile(
    rf"(?<![\w.,])({_NUMBER}) ?({_any_of(_ABOVE)})/({_any_of(_BELOW)})(?:\^?([23])|([\u00b2\u00b3]))?"
    r"(?![\w/\u00b2\u00b3])"
)
_UNIT = re.compile(rf"(?<![\w.,])({_NUMBER}) ?({_any_of(_UNITS)})(?![\w/\u00b2\u00b3])")
_DURATION = re.compile(r"(?<![\w.,])(\d{1,3}) ?h(?:rs?)? ?(\d{1,2}) ?m(?:in)?(?: ?(\d{1,2}) ?s)?\b(?!/)")
_SHORT_DURATION = re.compile(r"(?<![\w.,])(\d{1,3}) ?m ?(\d{1,2}) ?s\b(?!/)")
_MILLIONS = re.compile(
    rf"(?<![\w.,])({_NUMBER})m (?=(?:people|users|views|followers|subscribers|copies|downloads|streams|customers|votes"
    r"|years|jobs|homes|tonnes|tons|barrels|dollars|euros|pounds)\b)"
)
_FEET = re.compile(r"(?<!\w)(\d)'(\d{1,2})\"")
_FEET_AND_INCHES = re.compile(r"\b(\d+) ft\.? (\d+) in\b\.?")


def rewrite_units(text: str) -> str:
    """Return `text` with units in words. The grammar handles those that are missing here; it reads m as minutes."""
    text = _DURATION.sub(lambda m: " ".join(_parts(("hour", m[1]), ("minute", m[2]), ("second", m[3]))), text)
    text = _SHORT_DURATION.sub(lambda m: " ".join(_parts(("minute", m[1]), ("second", m[2]))), text)
    text = _MILLIONS.sub(r"\1 million ", text)
    text = _QUOTIENT.sub(_quotient, text)
    text = _FEET_AND_INCHES.sub(r"\1 feet \2 inches", _FEET.sub(r"\1 feet \2 inches", text))
    return _UNIT.sub(lambda m: f"{m[1]} {_several(_UNITS[m[2]], m[1])}", text)


def _parts(*amounts: tuple[str, str | None]) -> list[str]:
    return [f"{number} {_several(name, number)}" for name, number in amounts if number]


def _quotient(match: re.Match[str]) -> str:
    number, above, below = match[1], _several(_ABOVE[match[2]], match[1]), _BELOW[match[3]]
    power = match[4] or _RAISED.get(match[5] or "", "")
    if below == "second" and power:
        return f"{number} {above} per second {'squared' if power == '2' else 'cubed'}"
    return f"{number} {above} per {_POWERS[power].format(below)}"


def _several(name: str, number: str) -> str:
    """Return the plural of a unit, except after "1": "foot" -> "feet", "mile per gallon" -> "miles per gallon"."""
    if number == "1" or name in ("hertz", "per mille"):
        return name
    if name.endswith("foot"):
        return name.replace("foot", "feet")
    first, space, rest = name.partition(" per ")
    return f"{first}s{space}{rest}"
