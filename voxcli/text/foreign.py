"""Spell numbers, units, money, times, dates, ordinals, ranges, phone numbers in the languages of locales.yaml.

What no rule is certain about stays as written: a number whose form depends on the gender or the case of an unknown word
("1 Hund", "в 5 городах"), a version, a kind of number for which the language has no data.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import cache

from voxcli.text.german import GERMAN_RULES
from voxcli.text.locales import Dates, Locale, Noun, locale_of
from voxcli.text.numerals import GENDERS, MAX_NUMBER, join_groups, rulesets, spell, spell_year
from voxcli.text.wordlists import small_words

__all__ = ["rules", "spell_numbers"]

_SIGNS = "$\u20ac\u00a3\u00a5\u20b9\u20bd\u20ba%\u2030\u00b0\u00a7"
_BEFORE = r"(?<![\w.,:/+#-])"  # not inside a word, a date or a version
_ALONE = rf"{_BEFORE}(?<![{_SIGNS}])(?<![{_SIGNS}] )"
_MINUS = r"(?P<minus>(?<![\w.,:/)-])[-\u2212])"
_AFTER = r"(?![\w\u00b2\u00b3]|[.,:/-]\d|[-/:']\w)"
_QUOTIENT = r"(?! ?[kcm\u00b5MGT]?(?:g|m|l|s|N|J|W|V|A|bit|B|mol)/\w)"  # no number before a unit without a rule
_ALONE_AFTER = rf"{_AFTER}(?! ?[{_SIGNS}]){_QUOTIENT}"
_PHONE = re.compile(r"(?<![\w.,:/])(?:\+\d{1,3}|\(?0\d{1,4}\)?)(?:[ /-]\d{2,}){1,6}(?![\w:/]|[.,]\d)")
_NEXT_WORD = re.compile(r"\s+([^\W\d_]+)")
_DOT_AND_WORD = re.compile(r"\.\s+([^\W\d_])")
_DOTTED_ORDINALS = ("da", "de", "fi", "no", "pl", "tr")
_GERMAN_ORDINAL = re.compile(
    r"\b(?P<word>[Dd](?:er|ie|as|em|en|es)|[AaIi]m|[Vv]om|[Zz]um|[Bb]eim)"
    r" (?P<day>\d{1,3})\. (?=[^\W_])"
)


def spell_numbers(text: str, language: str) -> str:
    """Return `text` with its numbers in words. Raises KeyError for a language without data."""
    if " " not in (groups := locale_of(language).groups):
        text = join_groups(text, groups[:1])
    for pattern, spoken in rules(language):
        text = pattern.sub(spoken, text)
    return text


Rule = tuple[re.Pattern[str], Callable[[re.Match[str]], str]]


@cache
def rules(language: str) -> tuple[Rule, ...]:
    """Return patterns and their replacements, in order of application. Raises KeyError for a language without data."""
    return tuple(_Speller(locale_of(language)).all())


def _any_of(words: Iterable[str]) -> str:
    return "|".join(sorted(map(re.escape, words), key=len, reverse=True))


class _Speller:
    def __init__(self, locale: Locale):
        self.locale = locale
        self.language = locale.language
        groups = "".join(map(re.escape, locale.groups))
        self.number = rf"(?:\d{{1,3}}(?:[{groups}]\d{{3}})+(?!\d)|\d+)(?:,\d+)?"

    def all(self) -> list[Rule]:
        locale = self.locale
        found = self._date_rules(locale.date) if locale.date is not None else []
        found += GERMAN_RULES if self.language == "de" else ()
        found += [
            (_PHONE, lambda m: self._figures(m[0])),
            *self._clock_rules(),
            *self._money_rules(),
            *self._unit_rules(),
        ]
        if locale.to:
            ends = rf"(?P<low>{self.number})[-\u2013](?P<high>{self.number})"
            found.append((re.compile(rf"{_ALONE}{ends}{_ALONE_AFTER}"), self._range))
        if locale.ordinals:
            endings = "|".join(sorted(map(re.escape, locale.ordinals), key=len, reverse=True))
            found.append((re.compile(rf"{_BEFORE}(?P<day>\d{{1,4}})(?P<ending>{endings})(?!\w)"), self._ordinal))
        if self.language == "de":
            found.append((_GERMAN_ORDINAL, self._german))
        plain = rf"(?:{_MINUS}|{_ALONE})(?P<number>{self.number}){_ALONE_AFTER}"
        return [*found, (re.compile(plain), self._plain)]

    def _money_rules(self) -> list[Rule]:
        locale, number = self.locale, self.number
        signs = _any_of(locale.money)
        forms = {form: sign for sign, money in locale.money.items() for form in money.unit.forms}
        large = f"(?P<large>{_any_of(locale.large)})" if locale.large else ""
        found: list[Rule] = [
            (re.compile(rf"{_BEFORE}(?P<amount>{number}) ?(?P<sign>{signs})(?!\w)"), self._money),
            (
                re.compile(
                    rf"(?<!\w)(?P<sign>{signs}) ?(?P<amount>{number}){_AFTER}(?! ?(?:[MB]|m[lnd]|\u043c\u043b|mil))"
                ),
                self._money,
            ),
            (
                re.compile(rf"{_BEFORE}(?P<amount>{number}) (?P<sign>{_any_of(forms)})\b"),
                lambda m: self._money(m, forms[m["sign"]]),
            ),
        ]
        if large:
            found[:0] = [
                (re.compile(rf"(?<!\w)(?P<sign>{signs}) ?(?P<amount>{number}) {large}(?!\w)"), self._large),
                (re.compile(rf"{_BEFORE}(?P<amount>{number}) {large} (?P<sign>{signs})(?!\w)"), self._large),
            ]
        return found

    def _unit_rules(self) -> list[Rule]:
        number, nouns = self.number, self.locale.nouns
        unit = rf"(?P<unit>{_any_of(nouns)})(?![\w\u00b2\u00b3/]|-\w)"
        found: list[Rule] = [(re.compile(rf"(?:{_MINUS}|{_BEFORE})(?P<number>{number}) ?{unit}"), self._unit)]
        if self.locale.to:
            ends = rf"(?P<low>{number}) ?[-\u2013] ?(?P<high>{number})"
            found.insert(0, (re.compile(rf"{_BEFORE}{ends} ?{unit}"), self._unit_range))
        if "%" in nouns and "{}" in nouns["%"].forms[0]:
            found.append((re.compile(rf"(?<!\w)%(?P<number>{number}){_AFTER}"), self._percent))
        return found

    # -- numbers ----------------------------------------------------------------------------------------------
    def _split(self, written: str) -> tuple[int, str]:
        whole, _, rest = written.partition(",")
        return int(re.sub(r"\D", "", whole)), rest

    def _cardinal(self, number: int, gender: str) -> str:
        ruleset = f"cardinal-{GENDERS[gender]}" if gender else "numbering"
        return spell(self.language, number, ruleset)

    def _decimal(self, whole: int, rest: str) -> str:
        if self.language == "ru":
            return self._russian(whole, rest)
        if self.locale.digits or rest.startswith("0") or len(rest) > 2:
            decimals = " ".join(spell(self.language, int(digit)) for digit in rest)
        else:
            decimals = spell(self.language, int(rest))
        return f"{spell(self.language, whole)} {self.locale.point} {decimals}"

    def _russian(self, whole: int, rest: str) -> str:
        """ "две целых пять десятых": tenths, hundredths and thousandths, all feminine."""
        names = ("\u0434\u0435\u0441\u044f\u0442", "\u0441\u043e\u0442", "\u0442\u044b\u0441\u044f\u0447\u043d")
        one, several = "\u0430\u044f", "\u044b\u0445"
        top = int(rest)
        ends = [one if number % 10 == 1 and number % 100 != 11 else several for number in (whole, top)]
        point = f"\u0446\u0435\u043b{ends[0]}"
        words = f"{self._cardinal(whole, 'f')} {point} {self._cardinal(top, 'f')}"
        return f"{words} {names[len(rest) - 1]}{ends[1]}"

    def _speakable(self, whole: int, rest: str) -> bool:
        return whole <= MAX_NUMBER and len(rest) <= (3 if self.language == "ru" else 20)

    def _minus(self, match: re.Match[str]) -> str:
        return f"{self.locale.minus} " if match["minus"] else ""

    def _plain(self, match: re.Match[str]) -> str:
        whole, rest = self._split(match["number"])
        if not self._speakable(whole, rest) or self._inflected(match) or self._may_be_ordinal(match):
            return match[0]
        if rest:
            return f"{self._minus(match)}{self._decimal(whole, rest)}"
        digits = match["number"]
        if digits.isdigit() and digits[0] == "0" and len(digits) > 1:
            return self._figures(digits)
        if digits.isdigit() and len(digits) == 4 and 1100 <= whole <= 2099:
            if self.locale.years == "inflected":
                return match[0]
            return f"{self._minus(match)}{spell_year(self.language, whole, self.locale.years == 'hundreds')}"
        spoken = self._agreeing(whole, match)
        return match[0] if spoken is None else f"{self._minus(match)}{spoken}"

    def _agreeing(self, number: int, match: re.Match[str]) -> str | None:
        """Return a number in the gender of the noun after it; None if the gender matters and is unknown."""
        genders = [name for name in GENDERS if f"cardinal-{GENDERS[name]}" in rulesets(self.language)]
        forms = {gender: self._cardinal(number, gender) for gender in genders}
        following = _NEXT_WORD.match(match.string, match.end())
        noun = following[1].lower() if following else ""
        named = noun in self.locale.masculine or noun in self.locale.feminine
        if not noun or (noun in small_words(self.language) and not named):
            return spell(self.language, number)
        if len(set(forms.values())) <= 1:
            return next(iter(forms.values()), spell(self.language, number))
        if self.language == "ru":
            gender = _russian_gender(number, noun)
            return forms[gender] if gender else None
        masculine = max((len(end) for end in self.locale.masculine if noun.endswith(end)), default=0)
        feminine = max((len(end) for end in self.locale.feminine if noun.endswith(end)), default=0)
        if masculine == feminine:
            return None
        return forms["m" if masculine > feminine else "f"]

    def _may_be_ordinal(self, match: re.Match[str]) -> bool:
        """Return whether a full stop may make the number an ordinal, as in "1. FC".

        Where it ends a sentence instead, there is a word before the number.
        """
        following = _DOT_AND_WORD.match(match.string, match.end())
        if self.language not in _DOTTED_ORDINALS or following is None or not match["number"].isdigit():
            return False
        return following[1].islower() or not _word_before(match)

    def _inflected(self, match: re.Match[str]) -> bool:
        """Return whether a neighbouring word puts the number into another case."""
        if not self.locale.before:
            return False
        following = _NEXT_WORD.match(match.string, match.end())
        return _word_before(match) in self.locale.before or bool(
            following and len(following[1]) > 3 and following[1].endswith(self.locale.ending)
        )

    def _figures(self, written: str) -> str:
        groups = re.findall(r"\d+", written)
        digits = ", ".join(" ".join(spell(self.language, int(digit)) for digit in group) for group in groups)
        return f"plus {digits}" if written.startswith("+") else digits

    # -- units and money --------------------------------------------------------------------------------------
    def _counted(self, written: str, noun: Noun) -> str | None:
        whole, rest = self._split(written)
        if not self._speakable(whole, rest):
            return None
        words = self._decimal(whole, rest) if rest else self._cardinal(whole, noun.gender)
        form = self.locale.noun_form(noun, whole, parts=bool(rest))
        return form.format(words) if "{}" in form else f"{words} {form}"

    def _unit(self, match: re.Match[str]) -> str:
        spoken = None if self._inflected(match) else self._counted(match["number"], self.locale.nouns[match["unit"]])
        if spoken is None:
            return match[0]
        ended = "." if match["unit"].endswith(".") and not match.string[match.end() :].strip() else ""
        return f"{self._minus(match)}{spoken}{ended}"

    def _percent(self, match: re.Match[str]) -> str:
        return self._counted(match["number"], self.locale.nouns["%"]) or match[0]

    def _range(self, match: re.Match[str]) -> str:
        low, high = match["low"], match["high"]
        if {len(low), len(high)} == {4} and low.isdigit() and high.isdigit():
            hundreds = self.locale.years == "hundreds"
            years = [spell_year(self.language, int(year), hundreds) for year in (low, high)]
            return f" {self.locale.to} ".join(years)
        following = _NEXT_WORD.match(match.string, match.end())
        (a, a_rest), (b, b_rest) = self._split(low), self._split(high)
        if not (self._speakable(a, a_rest) and self._speakable(b, b_rest)) or (following and 1 in (a % 10, b % 10)):
            return match[0]
        ends = [self._decimal(n, rest) if rest else spell(self.language, n) for n, rest in ((a, a_rest), (b, b_rest))]
        return f" {self.locale.to} ".join(ends)

    def _unit_range(self, match: re.Match[str]) -> str:
        noun = self.locale.nouns[match["unit"]]
        whole, rest = self._split(match["low"])
        high = self._counted(match["high"], noun)
        if high is None or not self._speakable(whole, rest):
            return match[0]
        low = self._decimal(whole, rest) if rest else self._cardinal(whole, noun.gender)
        return f"{low} {self.locale.to} {high}"

    def _money(self, match: re.Match[str], sign: str | None = None) -> str:
        money = self.locale.money[sign or match["sign"]]
        whole, rest = self._split(match["amount"])
        if not self._speakable(whole, rest) or self._inflected(match):
            return match[0]
        if len(rest) not in (0, 2):
            return self._counted(match["amount"], money.unit) or match[0]
        ended = "." if match["sign"].endswith(".") and not match.string[match.end() :].strip() else ""
        parts = []
        if whole or not int(rest or 0):
            parts.append(self._counted(str(whole), money.unit) or "")
        if cents := int(rest or 0):
            bare = bool(parts) and money.joint == " " and cents > 9 and self.language in ("de", "fr", "nl")
            parts.append(
                self._cardinal(cents, money.part.gender) if bare else self._counted(str(cents), money.part) or ""
            )
        return money.joint.join(parts) + ended

    def _large(self, match: re.Match[str]) -> str:
        """Return an amount such as "2.5 million" of a currency in words."""
        whole, rest = self._split(match["amount"])
        if not self._speakable(whole, rest) or self._inflected(match):
            return match[0]
        noun = self.locale.nouns.get(match["large"])
        if noun is None:
            spoken = f"{self._decimal(whole, rest) if rest else spell(self.language, whole)} {match['large']}"
        else:
            spoken = self._counted(match["amount"], noun) or match["amount"]
        return f"{spoken} {self.locale.money[match['sign']].unit.many}"

    # -- times and dates --------------------------------------------------------------------------------------
    def _clock_rules(self) -> list[Rule]:
        locale = self.locale
        if not locale.clock[0]:
            return []
        marks = f":{locale.clock_letter}"
        word = f"(?: ?{locale.clock_word}\\b)" if locale.clock_word else ""
        optional = f"{word}?" if word else ""
        time = rf"(?P<h>[01]?\d|2[0-4])[{marks}](?P<m>[0-5]\d)"
        rules: list[Rule] = [(re.compile(rf"{_BEFORE}{time}{optional}(?![\w:]|[.,]\d)"), self._clock)]
        if locale.to:
            following = rf"(?:[01]?\d|2[0-4])[{marks}][0-5]\d"
            pattern = re.compile(rf"{_BEFORE}{time}{optional} ?[-\u2013] ?(?={following})")
            rules.insert(0, (pattern, lambda m: f"{self._clock(m)} {locale.to} "))
        if locale.clock_letter:
            rules.append(
                (re.compile(rf"{_BEFORE}(?P<h>[01]?\d|2[0-4]) ?{locale.clock_letter}(?P<m>)(?![\w:/])"), self._clock)
            )
        if word:
            rules.append((re.compile(rf"{_BEFORE}(?P<h>[01]?\d|2[0-4])(?:\.(?P<m>[0-5]\d))?{word}"), self._clock))
        return rules

    def _clock(self, match: re.Match[str]) -> str:
        hour, minute = int(match["h"]), int(match["m"] or 0)
        full, whole, gender = self.locale.clock
        if hour == 1 and self.locale.clock_one:
            full, whole = self.locale.clock_one
        minutes = spell(self.language, minute)
        if self.locale.clock_zero and minute < 10:
            minutes = f"{self.locale.clock_zero} {minutes}"
        return (full if minute or "{m}" in whole else whole).format(h=self._cardinal(hour, gender), m=minutes)

    def _date_rules(self, dates: Dates) -> list[Rule]:
        found: list[Rule] = [
            (re.compile(rf"{_BEFORE}(?P<year>[12]\d{{3}})-(?P<month>0\d|1[0-2])-(?P<day>[0-3]\d)(?![\w-])"), self._date)
        ]
        if dates.mark:
            mark = re.escape(dates.mark)
            year = r"(?P<year>[12]\d{3})"
            found.append(
                (
                    re.compile(rf"{_BEFORE}(?P<day>[0-3]?\d){mark} ?(?P<month>1[0-2]|0?[1-9]){mark} ?{year}(?![\w-])"),
                    self._date,
                )
            )
        if dates.day or dates.first:
            months = "|".join(dates.months)
            year = r"(?: (?P<year>[12]\d{3})(?:(?: \u0433\u043e\u0434\u0430| \u0433\.)|(?![\w:-]|[.,]\d)))?"
            found.append(
                (re.compile(rf"{_BEFORE}(?P<day>[0-3]?\d)(?P<dot>\.?) (?P<month>{months})\b{year}"), self._date)
            )
        return found

    def _date(self, match: re.Match[str]) -> str:
        dates = self.locale.date
        assert dates is not None, "only locales with dates have this rule"
        day, month = int(match["day"]), match["month"]
        if not 1 <= day <= 31 or (month.isdigit() and not 1 <= int(month) <= 12):
            return match[0]
        month = dates.months[int(month) - 1] if month.isdigit() else month
        of = dates.of if match["month"].isdigit() else " "
        ruleset = dates.after.get(_word_before(match), dates.day)
        spoken = dates.first if day == 1 and dates.first else spell(self.language, day, ruleset or "numbering")
        return f"{spoken}{of}{month}{self._year_of_date(match, of)}"

    def _year_of_date(self, match: re.Match[str], of: str) -> str:
        if not match["year"]:
            return ""
        year = int(match["year"])
        if self.language == "ru":
            return f" {spell('ru', year, 'numbering-year')} \u0433\u043e\u0434\u0430"
        spoken = spell_year(self.language, year, self.locale.years == "hundreds")
        return f"{of if match['month'].isdigit() else ' '}{spoken}"

    def _ordinal(self, match: re.Match[str]) -> str:
        return spell(self.language, int(match["day"]), self.locale.ordinals[match["ending"]])

    def _german(self, match: re.Match[str]) -> str:
        ruleset = "ordinal" if match["word"].lower() in ("der", "die", "das") else "ordinal-n"
        return f"{match['word']} {spell('de', int(match['day']), ruleset)} "


def _word_before(match: re.Match[str]) -> str:
    """Return the word before the match in lower case, its last 20 letters at most; empty if there is none."""
    before = match.string[max(0, match.start() - 20) : match.start()].rstrip()
    return re.split(r"[\W\d_]", before)[-1].lower()


def _russian_gender(number: int, noun: str) -> str:
    """Return the gender of a noun from its form after 1 or 2; empty if the form is ambiguous."""
    if number % 10 == 2:
        return {"\u0430": "m", "\u044f": "m", "\u044b": "f", "\u0438": "f"}.get(noun[-1], "")
    ends = {"\u0430": "f", "\u044f": "f", "\u043e": "n", "\u0435": "n", "\u044c": "", "\u044b": "", "\u0438": ""}
    return ends.get(noun[-1], "m")
