"""Remove Markdown and HTML markup but keep its words. Anything that may be plain text stays."""

from __future__ import annotations

import re
from collections.abc import Iterator

from voxcli.text.endings import SENTENCE_END, VERSE_END

__all__ = ["strip_markdown"]

_FENCE = re.compile(r"^[ \t]*(?:```|~~~)[ \t]*(?:[\w+-]+[ \t]*)?$", re.MULTILINE)
# May be a rule, or the rule under the head of a table.
_MARKS_ALONE = re.compile(r"^[ \t]*[-*_=|:][-*_=|: \t]*$", re.MULTILINE)
# A heading between lines of signs, as people write it in plain text: === Part One ===
_DECORATED = re.compile(
    r"^[ \t]*(?:={2,}([^=\n]+)={2,}|-{2,}([^-\n]+)-{2,}|~{2,}([^~\n]+)~{2,}|\*{3,}([^*\n]+)\*{3,})[ \t]*$",
    re.MULTILINE,
)
_TABLE_RULE = re.compile(r"\|?[ \t]*:?---")
_LINE_START = re.compile(r"^[ \t]*(?:(?:#{1,6}|[-*+\u2022]|>)[ \t]+)+", re.MULTILINE)
_TABLE_ROW = re.compile(rf"^[ \t]*\|.*\|[ \t]*(?=[{VERSE_END}{SENTENCE_END}]?$)", re.MULTILINE)
# A target must look like an address: "[laughing](softly)" is speech.
_LINK = re.compile(r"!?\[([^\[\]\n]{0,500})\]\((?=[^()\s]*[/.:#])[^()\s]{1,2000}(?:[ \t]+\"[^\"\n]{0,500}\")?\)")
_AUTOLINK = re.compile(r"<((?:https?://|mailto:)[^<>\s]{1,2000})>")
_STRONG = re.compile(r"(?<![\d*])\*\*(?=[^\s*])([^*]{1,1000})(?<=\S)\*\*(?![\d*])")
_EMPHASIS = re.compile(r"(?<![\w*])\*(?=[^\s*])([^*]{1,1000})(?<=\S)\*(?![\w*])")
_UNDERLINE = re.compile(r"(?<![\w_])(_{1,3})(?=[^\s_])([^_]{1,1000})(?<=\S)\1(?![\w_]|\.\w)")
_STRUCK = re.compile(r"~~(?=\S)([^~]{1,1000})(?<=\S)~~")
_APOSTROPHE = re.compile(r"(?<=[^\W\d_])[`\u00b4](?=[^\W\d_])")

_ATTRIBUTES = r"(?:\s+[\w:-]{1,50}=(?:\"[^\"<>]{0,500}\"|'[^'<>]{0,500}'|[^\s\"'<>]{1,500}))*\s*"
_TAG_NAMES = r"a|b|blockquote|code|del|div|em|font|h[1-6]|i|li|mark|ol|pre|s|small|span|strong|sub|sup|u|ul"
_CLOSING = re.compile(rf"</({_TAG_NAMES})\s*>", re.IGNORECASE)
_OPENING = re.compile(rf"<({_TAG_NAMES}){_ATTRIBUTES}>", re.IGNORECASE)
_LONE_TAG = re.compile(rf"<img{_ATTRIBUTES}/?>", re.IGNORECASE)
_COMMENT_OPEN, _COMMENT_CLOSE = "<!--", "-->"


def strip_markdown(text: str) -> str:
    """Return `text` without marks of headings, lists, quotes, emphasis and code, link addresses and HTML tags.

    Call this before line breaks are collapsed. Arithmetic (2 * 3), snake_case, comparisons (a < b), [tags] and
    {phonemes} stay as they are.
    """
    if "`" in text or "~" in text:
        text = _FENCE.sub("", text)
    text = _MARKS_ALONE.sub(lambda line: "" if _is_rule(line[0].strip(" \t")) else line[0], text)
    text = _DECORATED.sub(lambda heading: heading[heading.lastindex or 0].strip(), text)
    if "|" in text:
        text = _TABLE_ROW.sub(_cells, text)
    text = _LINE_START.sub("", text)
    text = _strip_html(text)
    if "](" in text:
        text = _LINK.sub(r"\1", text)
    if "<" in text:
        text = _AUTOLINK.sub(r"\1", text)
    if "`" in text or "\u00b4" in text:
        text = _APOSTROPHE.sub("'", text).replace("`", "")
    if "*" in text:
        text = _EMPHASIS.sub(r"\1", _STRONG.sub(r"\1", text))
    if "~~" in text:
        text = _STRUCK.sub(r"\1", text)
    return _UNDERLINE.sub(r"\2", text) if "_" in text else text


def _is_rule(line: str) -> bool:
    """Return whether a line of punctuation is a rule: `* * *`, `---`, or `|---|:--|` under the head of a table."""
    marks = set(line) - {" ", "\t"}
    if marks <= set("-*_="):
        return len(line) - line.count(" ") - line.count("\t") >= 3
    return marks <= set("|:-") and _TABLE_RULE.match(line) is not None


def _cells(row: re.Match[str]) -> str:
    cells = row[0].strip().strip("|").strip().split("|")
    return ", ".join(cell.strip(" \t") for cell in cells)


def _strip_html(text: str) -> str:
    """Return `text` without HTML tags. An opening tag needs a closing one: "a <b> c" is algebra."""
    if "<" not in text:
        return text
    closed = {name.lower() for name in _CLOSING.findall(text)}
    text = _CLOSING.sub("", text)
    text = _OPENING.sub(lambda m: "" if m[1].lower() in closed else m[0], text)
    text = _LONE_TAG.sub(" ", text)
    return "".join(_outside_comments(text))


def _outside_comments(text: str) -> Iterator[str]:
    place = 0
    while (start := text.find(_COMMENT_OPEN, place)) >= 0 and (end := text.find(_COMMENT_CLOSE, start)) >= 0:
        yield text[place:start]
        place = end + len(_COMMENT_CLOSE)
    yield text[place:]
