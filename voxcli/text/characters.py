"""Replace characters of text from any source by plain characters of the same meaning, in Unicode NFC.

Typographic quotes, dashes, dots and spaces become plain ones. Ligatures, presentation forms and full-width letters and
digits become the letters they represent. Invisible characters and emoji are removed.
"""

from __future__ import annotations

import re
import unicodedata

from voxcli.text.endings import SCENE, SENTENCE_END, VERSE_END
from voxcli.text.scripts import CJK

__all__ = ["is_plain", "plain_characters", "plain_line_breaks"]

# Matches most text, which the steps below would not change, at a hundredth of their cost.
_PLAIN_TEXT = re.compile(
    "(?! |- |-$)[-A-Za-z0-9 ,.!?'\":;()$%/@"
    "\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u017e\u0391-\u03a1\u03a3-\u03ce\u0410-\u044f"
    "\u3001\u3002\u300a-\u3011\u3041-\u3096\u30a1-\u30fa\u30fc\u4e00-\u9fff\uac00-\ud7a3\uff01\uff08\uff09\uff0c\uff1a\uff1b\uff1f]*"
    "(?<! )(?<! -)"
)

_SAME_MEANING = {
    **dict.fromkeys("\u2018\u2019\u201a\u201b\u2032\uff07", "'"),
    **dict.fromkeys("\u201c\u201d\u201e\u201f\u2033\uff02", '"'),
    **dict.fromkeys("\u2010\u2011\u2043\u2212", "-"),
    "\u2012": "\u2013",
    "\u2015": "\u2014",
    "\u22ef": "\u2026",
}
_LINE_ENDS = (VERSE_END, SENTENCE_END, SCENE)  # markers of this package; `read_text` removes them from its input
_JOINERS = "\u200c\u200d"
_VISIBLE_FORMAT = "\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd"


class _Table(dict[int, str]):
    """A table for `str.translate`, filled on first use of each character."""

    def __missing__(self, code: int) -> str:
        self[code] = result = _translated(chr(code))
        return result


def _translated(char: str) -> str:
    if char in _SAME_MEANING:
        return _SAME_MEANING[char]
    category = unicodedata.category(char)
    if char in "\n\t" or category == "Zs":
        return "\n" if char == "\n" else " "
    if category == "Cf":
        return char if char in _JOINERS or char in _VISIBLE_FORMAT else ""
    # Controls, unassigned, private, lone surrogates; variation selectors; replacement characters of a failed decoding.
    silent = category[0] == "C" or "\ufe00" <= char <= "\ufe0f" or char in "\ufffc\ufffd" or char >= "\U000e0000"
    return "" if silent and char not in _LINE_ENDS else char


_TABLE = _Table()
_ANSI = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_LINE_BREAK = re.compile(r"\r\n?|[\v\f\x85\u2028\u2029]")
# Letters that Unicode keeps for old encodings and fonts: Latin ligatures (PDF text), Arabic presentation forms,
# full-width ASCII letters and digits, half-width kana. Full-width punctuation is correct in Chinese text and stays.
_OLD_FORMS = re.compile(
    "[\ufb00-\ufb06\ufb50-\ufdff\ufe70-\ufefc\uff10-\uff19\uff21-\uff3a\uff41-\uff5a\uff66-\uff9f]+"
)
# Emoji, pictographs and ornaments, except circled numbers.
_EMOJI = re.compile(
    "[\u2300-\u23ff\u2500-\u2775\u2794-\u27bf\u2934\u2935\u2b00-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001f0ff\U0001f10d-\U0001faff\u20e3]"
    "|[\u00a9\u00ae\u2122\u2139\u2190-\u21ff](?=\ufe0f)"
)
# Joiners change letters in the scripts from Arabic to Khmer (Persian, Hindi, ...) and are noise everywhere else.
_JOINED = "\u0600-\u109f\u1780-\u17ff"
_JOINER = re.compile(f"(?<=[{_JOINED}])([{_JOINERS}])[{_JOINERS}]*(?=[{_JOINED}])|[{_JOINERS}]+")


def is_plain(text: str) -> bool:
    """Return True if `text` has only common characters and single spaces, so that cleaning would not change it."""
    return bool(_PLAIN_TEXT.fullmatch(text)) and "  " not in text and "--" not in text


def plain_line_breaks(text: str) -> str:
    """Return `text` with "\\n" for every kind of line break, without ANSI escape codes."""
    return _LINE_BREAK.sub("\n", _ANSI.sub("", text))


def plain_characters(text: str) -> str:
    """Return `text` in plain characters, with "\\n" for every kind of line break and " " for any other space."""
    text = plain_line_breaks(text)
    if text.isascii():  # nothing here concerns ASCII but controls
        return text if text.isprintable() else text.translate(_TABLE)
    text = unicodedata.normalize("NFC", text)
    text = _OLD_FORMS.sub(lambda match: unicodedata.normalize("NFKC", match[0]), text)
    text = _EMOJI.sub("", text).translate(_TABLE)
    text = _dashes_and_dots(_JOINER.sub(r"\1", text))
    return unicodedata.normalize("NFC", text)


_CJK_DASH = re.compile(rf"(?<=[{CJK}])[ ]*[\u2013\u2014]+[ ]*(?=[{CJK}])")
_RANGE_DASH = re.compile(r"(?<=\w)\u2013(?=\w)")  # 10-12, Paris-London
_DASH = re.compile(r"(?:(?<! ) +)?[\u2013\u2014]+ *")
_DOTS = re.compile("\u2026+")
_IS_CJK = re.compile(f"[{CJK}]")
_KEEP = "\ue000"  # placeholder for a dash to keep; the text has no other private characters at this point


def _dashes_and_dots(text: str) -> str:
    """Return `text` with plain dashes and dots, except next to Chinese, where Chinese ones are correct."""
    if "\u2013" in text or "\u2014" in text:
        text = _RANGE_DASH.sub("-", _CJK_DASH.sub(_KEEP, text))
        text = _DASH.sub(" - ", text).replace(_KEEP, "\u2014\u2014")
    if "\u2026" in text:
        text = _DOTS.sub(_dots, text)
    return text


def _dots(run: re.Match[str]) -> str:
    text, start, end = run.string, run.start(), run.end()
    beside_cjk = _IS_CJK.match(text, start - 1) if start else None
    return "\u2026\u2026" if beside_cjk or _IS_CJK.match(text, end) else "..." * (end - start)
