"""Read Markdown as blocks of plain text: paragraphs, headings, list items, rows of tables, each a line to speak.

Code and notes are left out and counted. HTML tags and comments are left out. The words of links and references stay.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from voxcli.inputs.rows import InputRow, Remarks

if TYPE_CHECKING:
    from markdown_it.token import Token

SUFFIXES = (".md", ".markdown", ".mdown", ".mkd", ".mkdn")
_FRONT_MATTER = re.compile(r"\A---[ \t]*\n(?:[^\n]*\n)*?(?:---|\.\.\.)[ \t]*(?:\n|\Z)")
_NOTE = re.compile(r"^\[\^[^\]\n]{1,100}\]:.*(?:\n(?:[ \t]+\S.*|[ \t]*(?=\n[ \t]+\S)))*", re.MULTILINE)
_NOTE_MARK = re.compile(r"\[\^[^\[\]\s]{1,100}\]")
_SPOKEN_TAG = re.compile(r"<break\b[^<>]*>", re.IGNORECASE)
_TAG = re.compile(r"<[a-z/!?][^<>]*>", re.IGNORECASE)
_BARE = re.compile(r"<([a-z][a-z0-9]*)>", re.IGNORECASE)
_ALONE = frozenset(["br", "hr", "img", "input", "li", "p", "wbr"])  # HTML tags that need no closing one
_BREAK = re.compile(r"<br\b[^<>]*>", re.IGNORECASE)


class Block(NamedTuple):
    """line: where it begins, from 1.  item: it is part of a list."""

    line: int
    text: str
    item: bool = False


def read_markdown(text: str, remarks: Remarks) -> Iterator[InputRow]:
    """Yield a row for each block."""
    for block in blocks(text, remarks):
        yield InputRow(block.line, {"text": block.text})


def read_whole(text: str, remarks: Remarks) -> str:
    """Return the words of a document, its blocks as paragraphs. A list and the words that introduce it are one."""
    parts: list[str] = []
    before = Block(0, "")
    for block in blocks(text, remarks):
        if parts:
            parts.append("\n" if block.item and (before.item or before.text.endswith(":")) else "\n\n")
        parts.append(f"- {block.text}" if block.item else block.text)
        before = block
    return "".join(parts)


def blocks(text: str, remarks: Remarks) -> Iterator[Block]:
    """Yield the blocks of a document in order. `remarks` counts what is left out."""
    from markdown_it import MarkdownIt

    first = 0
    if found := _FRONT_MATTER.match(text):
        remarks.left_out["metadata block"] += 1
        first = text.count("\n", 0, found.end())
        text = text[found.end() :]
    text, notes = _NOTE.subn(lambda note: "\n" * note[0].count("\n"), text)
    if notes:
        remarks.left_out["note"] += notes
    parser = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    yield from _blocks(parser.parse(text), first, remarks)


def _blocks(tokens: Sequence[Token], first: int, remarks: Remarks) -> Iterator[Block]:
    cells: list[str] | None = None
    depth = 0  # of lists
    for token in tokens:
        depth += token.nesting * token.type.startswith("list_item")
        line = first + (token.map[0] if token.map else 0) + 1
        if token.type in ("fence", "code_block"):
            remarks.left_out["code block"] += 1
        elif token.type == "html_block":
            if words := _html_text(token.content):
                yield Block(line, words)
        elif token.type == "hr":
            yield Block(line, "* * *")
        elif token.type == "tr_open":
            cells, row = [], line
        elif token.type == "tr_close" and cells is not None:
            if words := ", ".join(cell for cell in cells if cell):
                yield Block(row, words)
            cells = None
        elif token.type == "inline":
            words = _inline(token.children or [])
            if cells is not None:
                cells.append(words)
            elif words:
                yield Block(line, words, depth > 0)


def _inline(tokens: Sequence[Token]) -> str:
    parts = []
    tags = "".join(token.content.lower() for token in tokens if token.type == "html_inline")
    for token in tokens:
        if token.type in ("text", "code_inline", "text_special"):
            parts.append(token.content)
        elif token.type in ("softbreak", "hardbreak"):
            parts.append("\n")
        elif token.type == "image":
            parts.append(_inline(token.children or []))
        elif token.type == "html_inline":
            if _SPOKEN_TAG.fullmatch(token.content) or _is_prose(token.content, tags):
                parts.append(token.content)
            elif _BREAK.fullmatch(token.content):
                parts.append("\n")
    return _NOTE_MARK.sub("", "".join(parts)).strip()


def _is_prose(tag: str, tags: str) -> bool:
    """Whether what looks like a tag is not one of HTML: "x <y> z", with nothing that closes it."""
    found = _BARE.fullmatch(tag)
    return found is not None and found[1].lower() not in _ALONE and f"</{found[1].lower()}" not in tags


def _html_text(source: str) -> str:
    """Return the words of a piece of HTML, without comments, scripts and styles."""
    for start, end in (("<!--", "-->"), ("<script", "</script>"), ("<style", "</style>")):
        source = _without(source, start, end)
    words = html.unescape(_TAG.sub(_without_tag, _BREAK.sub("\n", source)))
    return "\n".join(line for line in map(str.strip, words.split("\n")) if line)


def _without_tag(tag: re.Match[str]) -> str:
    return tag[0] if _SPOKEN_TAG.fullmatch(tag[0]) else ""


def _without(source: str, start: str, end: str) -> str:
    """Return `source` without the parts from `start` to `end`. A part that is not closed extends to the end."""
    found = source.lower()
    parts, place = [], 0
    while (opened := found.find(start, place)) >= 0:
        parts.append(source[place:opened])
        closed = found.find(end, opened)
        place = closed + len(end) if closed >= 0 else len(source)
    return "".join([*parts, source[place:]])
