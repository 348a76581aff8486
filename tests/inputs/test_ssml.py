"""SSML over several lines is one text for each `<speak>` element."""

from __future__ import annotations

from voxcli.errors import Problem
from voxcli.inputs.rows import InputRow, Remarks
from voxcli.inputs.ssml import is_ssml, read_ssml

TWO = """<?xml version="1.0"?>
<!-- two texts -->
<speak version="1.0">
  <p>Hello
  there.</p> <!-- a <note> -->
  <break time="700ms"/>
</speak>

<speak>Good &amp; night.</speak>
"""


def test_each_element_is_a_row_at_its_line() -> None:
    assert is_ssml(TWO)
    assert list(read_ssml(TWO, Remarks())) == [
        InputRow(3, {"text": '<speak version="1.0"> <p>Hello there.</p> <break time="700ms"/> </speak>'}),
        InputRow(9, {"text": "<speak>Good &amp; night.</speak>"}),
    ]


def test_what_is_not_whole_is_refused() -> None:
    for text in ("<speak>Hello.", "Hello.", "<speak>Hello.</speak> there", "<speak>a<speak>b</speak></speak>"):
        assert not is_ssml(text)
        assert list(read_ssml(text, Remarks())) == [
            Problem(1, "not SSML: it must consist of <speak> elements, each with its closing tag")
        ]


def test_long_documents_take_no_time_beyond_their_length() -> None:
    assert is_ssml("<speak>" + "<p>a</p>" * 50_000 + "</speak>")
    assert not is_ssml("<speak>" * 20_000)
    assert not is_ssml("<speak" + " " * 100_000)
