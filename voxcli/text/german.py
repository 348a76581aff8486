"""German forms that contain numbers: decades ("80er"), scores ("3:1"), multiples ("3x"), paragraphs of laws ("§ 3")."""

from __future__ import annotations

import re
from collections.abc import Callable

from voxcli.text.numerals import spell, spell_year

__all__ = ["GERMAN_RULES"]

_BEFORE = r"(?<![\w.,:/+#-])"
_DECADE = re.compile(rf"{_BEFORE}(\d{{1,4}})er(?![\w'])")
_SCORE = re.compile(rf"{_BEFORE}(\d{{1,3}}):(\d)(?![\w:]|[.,-]\d)")
_TIMES = re.compile(rf"{_BEFORE}(\d{{1,4}})(?:x|-mal|mal)(?!\w)")
_PARAGRAPH = re.compile(r"(\u00a7\u00a7?) ?(?=\d)")


def _decade(match: re.Match[str]) -> str:
    number = int(match[1])
    if number < 2:
        return match[0]  # "1er"
    year = 1100 <= number <= 2099
    return f"{spell_year('de', number, hundreds=True) if year else spell('de', number)}er"


def _times(match: re.Match[str]) -> str:
    number = int(match[1])
    return f"{'ein' if number == 1 else spell('de', number)}mal"


GERMAN_RULES: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], str]], ...] = (
    (_PARAGRAPH, lambda m: "Paragrafen " if len(m[1]) > 1 else "Paragraf "),
    (_DECADE, _decade),
    (_SCORE, lambda m: f"{spell('de', int(m[1]))} zu {spell('de', int(m[2]))}"),
    (_TIMES, _times),
)
