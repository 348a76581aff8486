"""Subtitles as lines to speak."""

from __future__ import annotations

from voxcli.errors import Problem
from voxcli.inputs.captions import read_cues
from voxcli.inputs.rows import InputRow, Remarks


def cues(text: str, remarks: Remarks | None = None) -> list[tuple[int, str | None, str]]:
    found = []
    for row in read_cues(text, remarks or Remarks()):
        assert isinstance(row, InputRow), row
        found.append((row.line, row.fields.get("id"), row.fields["text"]))
    return found


def test_each_cue_is_a_line_with_its_number() -> None:
    text = "1\n00:00:01,000 --> 00:00:03,000\nHello there,\nAnna.\n\n2\n00:00:04,000 --> 00:00:06,500\nGood night.\n"
    assert cues(text) == [(1, "1", "Hello there,\nAnna."), (6, "2", "Good night.")]


def test_tags_are_dropped_and_comparisons_stay() -> None:
    text = "1\n00:00:01.0 --> 00:00:03.0 X1:40\n<i>Hello</i> {\\an8}<font color='red'>there</font>, 1 < 2 > 0.\n"
    assert cues(text) == [(1, "1", "Hello there, 1 < 2 > 0.")]


def test_blank_lines_in_a_cue_lose_nothing_and_missing_ones_between_cues_do_not_matter() -> None:
    text = "1\n00:00:01,000 --> 00:00:02,000\nOne\n\nand more.\n2\n00:00:03,000 --> 00:00:04,000\nTwo.\n3\n"
    assert cues(text) == [(1, "1", "One\nand more."), (6, "2", "Two.\n3")]


def test_numbers_that_are_not_unique_are_no_ids() -> None:
    cue = "1\n00:00:01,000 --> 00:00:02,000\nAgain.\n\n"
    assert cues(cue + cue) == [(1, None, "Again."), (5, None, "Again.")]
    assert cues("00:01,000 --> 00:02,000\nNo number.\n") == [(1, None, "No number.")]


def test_a_number_that_is_spoken_is_no_number_of_a_cue() -> None:
    text = "1\n00:00:01,000 --> 00:00:02,000\nThe year\n1984\n\n2\n00:00:03,000 --> 00:00:04,000\nTwo.\n"
    assert [text for *_, text in cues(text)] == ["The year\n1984", "Two."]


def test_empty_cues_are_counted() -> None:
    remarks = Remarks()
    text = "1\n00:00:01,000 --> 00:00:02,000\n\n\n2\n00:00:03,000 --> 00:00:04,000\n<i></i>\n"
    assert cues(text, remarks) == []
    assert remarks.left_out == {"empty cue": 2}


def test_webvtt_has_notes_styles_identifiers_and_entities() -> None:
    text = (
        "WEBVTT - a title\n\nSTYLE\n::cue { color: red }\n\nNOTE\na --> b is no time\n\n"
        "intro\n00:01.000 --> 00:03.000 align:start\n<v Anna>Hello &amp; welcome.\n\n"
        "NOTE more\nnot spoken\n\n2\n01:00:04.000 --> 01:00:05.000\n<00:04.500><c.loud>Bye.</c>\n"
    )
    assert cues(text) == [(9, "intro", "Hello & welcome."), (16, "2", "Bye.")]


def test_a_time_that_is_none_is_a_problem() -> None:
    text = "1\n00:00:01,000 --> 00:00:02,000\nOne.\n\n2\n00:00:x3,000 --> 00:00:04,000\nTwo.\n"
    rows = list(read_cues(text, Remarks()))
    assert Problem(6, "not the time of a cue, such as 00:00:01,000 --> 00:00:03,000") in rows
