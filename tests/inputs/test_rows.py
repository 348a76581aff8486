from __future__ import annotations

import pytest

from voxcli.errors import Problem
from voxcli.inputs.rows import InputRow, Remarks, read_json, read_json_lines, read_lines


def lines(text: str) -> list[InputRow | Problem]:
    return list(read_json_lines(text, Remarks()))


def array(text: str) -> list[InputRow | Problem]:
    return list(read_json(text, Remarks()))


def test_json_lines_skip_blanks_and_comments_and_keep_line_numbers() -> None:
    remarks = Remarks()
    text = '# a comment\n{"text": "one"}\n\n#no space\n   {"text": "two", "seed": null}'
    assert list(read_json_lines(text, remarks)) == [
        InputRow(2, {"text": "one"}),
        InputRow(5, {"text": "two", "seed": None}),
    ]
    assert remarks.left_out == {"comment line": 2}


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('{"text": "one"', "Expecting ',' delimiter at column 15"),
        ('["one"]', 'expected a JSON object like {"text": "..."}, not list'),
        ('{"cfg": Infinity}', "Infinity is not a number JSON knows"),
        ("[" * 100_000, "nested too deeply"),
        ('{"seed": ' + "9" * 5_000 + "}", "Exceeds the limit"),
    ],
)
def test_a_bad_json_line_is_a_problem_and_the_next_line_is_read(line: str, reason: str) -> None:
    problem, row = lines(f'{line}\n{{"text": "two"}}')
    assert isinstance(problem, Problem)
    assert problem.line == 1
    assert reason in problem.message
    assert row == InputRow(2, {"text": "two"})


def test_nan_is_what_programs_write_for_nothing() -> None:
    assert lines('{"text": "one", "seed": NaN}') == [InputRow(1, {"text": "one", "seed": None})]


def test_a_pretty_printed_array_tells_the_line_where_each_object_begins() -> None:
    text = '\n[\n  {\n    "text": "one"\n  },\n  {"text": "two"}, {"text": "three"}\n]\n'
    assert array(text) == [InputRow(3, {"text": "one"}), InputRow(6, {"text": "two"}), InputRow(6, {"text": "three"})]


def test_pretty_printed_objects_may_follow_each_other() -> None:
    text = '{\n  "text": "one"\n}\n{\n  "text": "two"\n}\n'
    assert array(text) == [InputRow(1, {"text": "one"}), InputRow(4, {"text": "two"})]
    assert array(text + "\n,") == [*array(text), Problem(8, "not JSON: Expecting value at column 1")]


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
    problems = [row for row in array(text) if isinstance(row, Problem)]
    assert {problem.line for problem in problems} == {line}
    assert reason in problems[0].message


def test_plain_text_is_a_row_a_line() -> None:
    remarks = Remarks()
    text = "# intro\nOne.\n\n  Two.  \n#three\n#\n## Four"
    assert [row.fields["text"] for row in read_lines(text, remarks)] == ["One.", "Two.", "#three", "## Four"]
    assert [row.line for row in read_lines(text, Remarks())] == [2, 4, 5, 7]
    assert remarks.left_out == {"comment line": 2}
