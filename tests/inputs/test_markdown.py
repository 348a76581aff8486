"""Markdown as blocks of plain text."""

from __future__ import annotations

import time

import pytest

from voxcli.inputs.markdown import Block, blocks, read_whole
from voxcli.inputs.rows import Remarks


def read(text: str) -> list[str]:
    return [block.text for block in blocks(text, Remarks())]


def test_headings_paragraphs_and_list_items_are_blocks_with_their_lines() -> None:
    text = "# Chapter One\n\nIt was *dark*,\nand __cold__.\n\n## Part two\n\n"
    text += "- one\n- two\n  1. nested\n\n> quoted\n\n***\nEnd."
    assert list(blocks(text, Remarks())) == [
        Block(1, "Chapter One"),
        Block(3, "It was dark,\nand cold."),
        Block(6, "Part two"),
        Block(8, "one", True),
        Block(9, "two", True),
        Block(10, "nested", True),
        Block(12, "quoted"),
        Block(14, "* * *"),
        Block(15, "End."),
    ]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("See [the page](https://example.com) or <https://example.org>.", "See the page or https://example.org."),
        ("See [the page][1] and [that].\n\n[1]: https://example.com\n[that]: x.html", "See the page and that."),
        ("R&amp;D &mdash; 5&nbsp;&euro; \\*not\\*", "R&D \u2014 5\u00a0\u20ac *not*"),
        ("Run `make all`, ~~never~~ ![a map](map.png).", "Run make all, never a map."),
        ("One<br>two <b>three</b><!-- four -->.", "One\ntwo three."),
        ('Wait.<break time="700ms"/>Now.', 'Wait.<break time="700ms"/>Now.'),
        ("A word[^1] and more[^note].", "A word and more."),
        ("snake_case 2 * 3 * 4 and #tag", "snake_case 2 * 3 * 4 and #tag"),
    ],
)
def test_links_entities_and_marks_leave_their_words(text: str, words: str) -> None:
    assert read(text) == [words]


def test_tables_are_rows_and_html_is_its_words() -> None:
    assert read("| a | b |\n|---|---|\n| c |  |\n| *d* | e |\n") == ["a, b", "c", "d, e"]
    page = (
        '<p align="center">\n  Hello <b>there</b> 1 &lt; 2\n</p>\n\n<script>x()</script>\n\n<!-- no\n\nno -->\n\nBye.'
    )
    assert read(page) == ["Hello there 1 < 2", "Bye."]


def test_what_is_left_out_is_counted() -> None:
    remarks = Remarks()
    text = "---\ntitle: One\n---\n\nHello.[^1]\n\n```python\nx = 1\n```\n\n    y = 2\n\n"
    text += "[^1]: A note\n    of two lines.\n\nEnd.\n"
    assert list(blocks(text, remarks)) == [Block(5, "Hello."), Block(16, "End.")]
    assert remarks.left_out == {"metadata block": 1, "note": 1, "code block": 2}


MARKS = (
    "[",
    "*a ",
    ">",
    "- ",
    "[^1]:\n",
    "`",
    "<",
    "---\n",
    "![",
    "<a ",
    "[^1]: a\n ",
    "&#",
    "a\n| ",
    "<!--",
    "a <!--",
)


@pytest.mark.parametrize("mark", MARKS)
def test_marks_without_end_take_time_by_their_number(mark: str) -> None:
    def cost(count: int) -> float:
        began = time.process_time()
        read(mark * count)
        return time.process_time() - began

    cost(100)
    assert cost(20_000) < 40 * max(cost(2_000), 0.01)


def test_lists_are_paragraphs_of_a_whole_text_with_the_words_before_them() -> None:
    text = "You need:\n\n- two eggs\n- milk\n\n# One\n\n1. It was dark.\n\nEnd."
    assert read_whole(text, Remarks()) == "You need:\n- two eggs\n- milk\n\nOne\n\n- It was dark.\n\nEnd."


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('Wait.\n\n<break time="1s"/>\n\nGo.', 'Wait.\n\n<break time="1s"/>\n\nGo.'),
        ('Wait. <break time="1s"/> Go.', 'Wait. <break time="1s"/> Go.'),
        ("x <y> z", "x <y> z"),
        ("a <kbd>key</kbd> and<br>more <wbr>words", "a key and\nmore words"),
    ],
)
def test_pauses_and_prose_in_angle_brackets_stay(text: str, expected: str) -> None:
    assert read_whole(text, Remarks()) == expected
