"""Lists of recordings and texts, as data sets have them."""

from __future__ import annotations

import pytest

from voxcli.errors import Problem
from voxcli.inputs.filelist import is_filelist, read_filelist
from voxcli.inputs.rows import InputRow, Remarks


def rows(*lines: str) -> list[tuple[str | None, str, dict[str, str]]]:
    text = "\n".join(lines)
    assert is_filelist(text)
    found = []
    for row in read_filelist(text, Remarks()):
        assert isinstance(row, InputRow), row
        found.append((row.fields.get("id"), row.fields["text"], dict(row.extra)))
    return found


def test_ljspeech_has_the_text_and_its_normalized_form() -> None:
    assert rows(
        'LJ001-0001|In 1450 Gutenberg, "printed".|In fourteen fifty Gutenberg, "printed".',
        "LJ001-0002|It's so.|It's so.",
    ) == [
        ("LJ001-0001", 'In fourteen fifty Gutenberg, "printed".', {"column 2": 'In 1450 Gutenberg, "printed".'}),
        ("LJ001-0002", "It's so.", {"column 2": "It's so."}),
    ]
    assert rows("LJ001-0001|Printing.", "LJ001-0002|In.") == [
        ("LJ001-0001", "Printing.", {}),
        ("LJ001-0002", "In.", {}),
    ]


def test_a_speaker_is_extra_wherever_it_stands() -> None:
    expected = [("a", "Hello there.", {"column 2": "0"}), ("b", "Good night.", {"column 2": "1"})]
    assert rows("wavs/a.wav|0|Hello there.", "", "wavs/b.wav|1|Good night.") == expected
    expected = [("a", "Hello there.", {"column 3": "EN"}), ("b", "Good night.", {"column 3": "EN"})]
    assert rows("wavs\\a.wav|Hello there.|EN", "wavs\\b.wav|Good night.|EN") == expected


def test_files_of_one_name_in_two_folders_keep_them_apart() -> None:
    assert [identity for identity, *_ in rows("x/a.wav|Hello.", "y/a.wav|Bye.")] == ["x/a", "y/a"]


def test_columns_that_could_both_be_the_text_are_a_problem() -> None:
    (problem,) = read_filelist("a_1|Hello there, you.|Bonjour, vous.\na_2|Good night.|Bonne nuit.", Remarks())
    assert isinstance(problem, Problem)
    assert "the text may be in several of the 3 columns: name them in a first line" in problem.message


def test_a_line_of_another_width_further_down_is_a_problem() -> None:
    text = "\n".join(f"a_{count}|Hello." for count in range(1_000)) + "\nb_1|Hello|there."
    assert list(read_filelist(text, Remarks()))[-1] == Problem(1001, "3 cells, the lines before have 2")


def test_a_list_by_command_may_have_lines_of_any_width() -> None:
    first, second, third = read_filelist("a|0|Hello there.\nb\nc|1|Good night.", Remarks())
    assert (first, second) == (
        InputRow(1, {"id": "a", "text": "Hello there."}, False, {"column 2": "0"}),
        Problem(2, "1 cell, the lines before have 3"),
    )
    assert isinstance(third, InputRow)


@pytest.mark.parametrize(
    "text",
    [
        "dog|Hund\ncat|Katze",
        "1|a\n1|b",
        "a_1|b\na_2|b|c",
        "left | right\nup | down",
        "a_1|b",
        "1|2\n3|4",
        "a b_1|c\nd e_1|f",
        "",
        "|" * 5_000,
    ],
)
def test_anything_else_is_none(text: str) -> None:
    assert not is_filelist(text)
