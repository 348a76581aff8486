from __future__ import annotations

import pytest

from voxcli.errors import ManifestError, Problem
from voxcli.inputs.rows import RawRow, decode, detect, read_rows


def rows(source: str, text: str) -> list[RawRow | Problem]:
    return list(read_rows(source, text))


def test_json_lines_skip_blanks_and_comments_and_keep_line_numbers() -> None:
    text = '# a comment\n{"text": "one"}\n\n   {"text": "two", "seed": null}'
    assert rows("a.jsonl", text) == [RawRow(2, {"text": "one"}), RawRow(4, {"text": "two"})]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('{"text": "one"', "Expecting ',' delimiter at column 15"),
        ('["one"]', 'expected a JSON object like {"text": "..."}, not list'),
        ('{"cfg": NaN}', "NaN is not a number JSON knows"),
        ("[" * 100_000, "nested too deeply"),
        ('{"seed": ' + "9" * 5_000 + "}", "Exceeds the limit"),
    ],
)
def test_a_bad_json_line_is_a_problem_and_the_next_line_is_read(line: str, reason: str) -> None:
    problem, row = rows("a.jsonl", f'{line}\n{{"text": "two"}}')
    assert isinstance(problem, Problem)
    assert problem.line == 1
    assert reason in problem.message
    assert row == RawRow(2, {"text": "two"})


def test_a_pretty_printed_array_tells_the_line_where_each_object_begins() -> None:
    text = '\n[\n  {\n    "text": "one"\n  },\n  {"text": "two"}, {"text": "three"}\n]\n'
    assert rows("a.json", text) == [
        RawRow(3, {"text": "one"}),
        RawRow(6, {"text": "two"}),
        RawRow(6, {"text": "three"}),
    ]


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        ('[\n{"text": "one"}\n{"text": "two"}]', 3, "a comma or the closing ] is missing"),
        ('[\n{"text": "one"},\n{"text": }]', 3, "Expecting value at column 10"),
        ('[{"text": "one"}]\nmore', 2, "text after the end"),
        ('[{"text": "one"}', 1, "a comma or the closing ] is missing"),
        ('[{"text": "one"},\n 7]', 2, "not int"),
        ('[1, null, "x"]', 1, "not int"),
        ("[" * 100_000, 1, "not JSON: nested too deeply"),
        ("[laughs] Hello.", 1, "not JSON: Expecting value at column 2"),
        ("Hello.", 1, "not JSON: Expecting value at column 1"),
    ],
)
def test_a_broken_array_is_a_problem_with_its_line(text: str, line: int, reason: str) -> None:
    problems = [row for row in rows("a.json", text) if isinstance(row, Problem)]
    assert {problem.line for problem in problems} == {line}
    assert reason in problems[0].message


def test_csv_as_a_spreadsheet_saves_it() -> None:
    text = 'id,text,seed\n1,"Hello, you",7\n,,\n2,"two\nlines",\n3,last,9'
    assert rows("a.csv", text) == [
        RawRow(2, {"id": "1", "text": "Hello, you", "seed": "7"}, typed=False),
        RawRow(4, {"id": "2", "text": "two\nlines"}, typed=False),
        RawRow(6, {"id": "3", "text": "last", "seed": "9"}, typed=False),
    ]


def test_a_cell_may_be_as_long_as_a_book_but_has_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "word " * 100_000
    assert rows("a.csv", f"id,text\n1,{text}") == [RawRow(2, {"id": "1", "text": text.strip()}, typed=False)]
    monkeypatch.setattr("voxcli.inputs.rows.MAX_CELL", 100)
    assert rows("a.csv", f"id,text\n1,{text}") == [Problem(2, "not CSV: field larger than field limit (100)")]


def test_csv_with_semicolons_and_tsv() -> None:
    expected = [RawRow(2, {"id": "1", "text": "Yes, no"}, typed=False)]
    assert rows("a.csv", "id;text\n1;Yes, no") == expected
    assert rows("a.tsv", "id\ttext\n1\tYes, no") == expected


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        ("text,seed\none,1,2", 2, "3 cells, the header has 2"),
        ("text,text\none,two", 1, "'text' stands twice"),
        ('text\n"one', 2, "not CSV"),
    ],
)
def test_a_broken_table_is_a_problem_with_its_line(text: str, line: int, reason: str) -> None:
    problem = next(row for row in rows("a.csv", text) if isinstance(row, Problem))
    assert problem.line == line
    assert reason in problem.message


def test_plain_text_is_a_row_a_line() -> None:
    assert rows("a.txt", "# intro\nOne.\n\n  Two.  ") == [RawRow(2, {"text": "One."}), RawRow(4, {"text": "Two."})]


@pytest.mark.parametrize(
    ("source", "text", "expected"),
    [
        ("stdin", '{"text": "a"}', "jsonl"),
        ("stdin", ' [\n {"text": "a"}]', "json"),
        ("stdin", "[laughs] Hello.", "text"),
        ("a.jsonl", '[{"text": "a"}]', "json"),
        ("a.json", '{"text": "a"}\n{"text": "b"}', "jsonl"),
        ("A.CSV", "text", "csv"),
        ("book.txt", '{"not": "json"}', "text"),
        ("book.txt", '[1, "the first chapter"]', "text"),
        ("a.json", '[1, null, "x"]', "json"),
        ("a.json", "[laughs] Hello.", "json"),
        ("a.json", "Hello.", "jsonl"),
        ("stdin", '[1, null, "x"]', "json"),
        ("stdin", "[null]", "json"),
        ("stdin", '["one"]', "json"),
        ("stdin", "[" * 100_000, "json"),
        ("stdin", "[1] A footnote, and [2] another.", "text"),
        ("stdin", "[null and void] It is.", "text"),
        ("stdin", "[[The sea]] was calm.", "text"),
        ("stdin", "[" * 100_000 + "x", "text"),
    ],
)
def test_the_format_is_told_by_the_name_else_by_the_beginning(source: str, text: str, expected: str) -> None:
    assert detect(source, text) == expected


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_encodings_and_line_ends_of_other_systems(encoding: str) -> None:
    assert decode("é\r\n好\rz".encode(encoding), "a") == "é\n好\nz"


def test_text_of_another_encoding_is_refused_with_its_line() -> None:
    with pytest.raises(ManifestError, match="line 2: not UTF-8"):
        decode(b"one\ncaf\xe9\n", "a.txt")
