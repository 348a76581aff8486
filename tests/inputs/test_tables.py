"""Tables as people have them: CSV of spreadsheets, quotes in dialogue, semicolons, bars, names in any case."""

from __future__ import annotations

import csv
import io
import time
from collections.abc import Callable

import pytest

from voxcli.errors import Problem
from voxcli.inputs.columns import Columns
from voxcli.inputs.rows import InputRow, Remarks
from voxcli.inputs.tables import DELIMITERS, Layout, find_layout, read_table


def rows(text: str, usual: str | None = ",", columns: Columns | None = None) -> list[InputRow | Problem]:
    columns = columns or Columns()
    layout = find_layout(text, columns, usual)
    assert layout is not None
    return list(read_table(text, layout, columns, Remarks()))


def texts(text: str, usual: str = "\t") -> list[str]:
    found = []
    for row in rows(text, usual):
        assert isinstance(row, InputRow), row
        found.append(row.fields["text"])
    return found


def test_csv_as_a_spreadsheet_saves_it() -> None:
    text = 'id,text,seed\n1,"Hello, you",7\n,,\n2,"two\nlines",\n3,last,9'
    assert rows(text) == [
        InputRow(2, {"id": "1", "text": "Hello, you", "seed": "7"}, typed=False),
        InputRow(4, {"id": "2", "text": "two\nlines"}, typed=False),
        InputRow(6, {"id": "3", "text": "last", "seed": "9"}, typed=False),
    ]


def test_a_cell_may_be_as_long_as_a_book_but_has_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "word " * 100_000
    expected = [InputRow(2, {"id": "1", "text": text.strip()}, typed=False)]
    assert rows(f"id,text\n1,{text}") == rows(f"id\ttext\n1\t{text}", "\t") == expected
    monkeypatch.setattr("voxcli.inputs.tables.MAX_CELL", 100)
    assert rows(f"id,text\n1,{text}") == [Problem(2, "not CSV: field larger than field limit (100)")]
    assert rows(f"id\ttext\n1\t{text}", "\t") == [Problem(2, "a cell of more than 100 characters")]


@pytest.mark.parametrize("delimiter", DELIMITERS)
@pytest.mark.parametrize("usual", [",", "\t"])
def test_the_header_tells_the_delimiter_whatever_the_name_says(delimiter: str, usual: str) -> None:
    expected = [InputRow(2, {"id": "1", "text": "Yes: no"}, typed=False)]
    assert rows(f"id{delimiter}text\n1{delimiter}Yes: no", usual) == expected


def test_the_line_of_excel_that_names_the_separator_is_obeyed() -> None:
    for first in ("sep=;", '"sep=;"', "SEP=;"):
        assert rows(f"{first}\ntext;cfg\nYes, no;2,5\n") == [
            InputRow(3, {"text": "Yes, no", "cfg": "2.5"}, typed=False)
        ]
    assert rows("\nsep=^\ntext^id\nYes, no^1\n") == [InputRow(4, {"text": "Yes, no", "id": "1"}, typed=False)]


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        ("text,seed\none,1,2", 2, "3 cells, the header has 2: quote a cell with the delimiter"),
        ("text,text\none,two", 1, "column 'text' stands twice in the header"),
        ("text,Text\none,two", 1, "columns 'text' and 'Text' are both the field 'text': choose one with --map"),
        ('text\n"one', 2, "not CSV"),
        (
            "Hello there.\nGood night.",
            1,
            "no column 'text'; the first line is 'Hello there.': is the header row",
        ),
        ("id,Line\na,Hello.", 1, "or the one to speak with --map text=Line"),
    ],
)
def test_a_broken_table_is_one_problem_with_its_line(text: str, line: int, reason: str) -> None:
    (problem,) = rows(text)
    assert isinstance(problem, Problem)
    assert problem.line == line
    assert reason in problem.message


def test_names_in_any_case_with_space_around_them_and_unknown_ones_kept() -> None:
    text = " ID , Text ,Pause After,Notes,\n1,Hello.,1,loud,\n2,Hello, you,1,loud\n"
    assert rows(text) == [
        InputRow(2, {"id": "1", "text": "Hello.", "pause_after": "1"}, False, {"Notes": "loud"}),
        Problem(3, "5 cells, the header has 4: quote a cell with the delimiter"),
    ]
    assert rows(",text\n0,Hello.\n") == [InputRow(2, {"text": "Hello."}, False, {"column 1": "0"})]


def test_columns_by_other_names() -> None:
    columns = Columns({"text": "Line", "voice": "Character"})
    text = "Character,LINE,Text\nanna,Hello.,Hola.\n"
    assert rows(text, columns=columns) == [InputRow(2, {"voice": "anna", "text": "Hello."}, False, {"Text": "Hola."})]
    (problem,) = rows("Character,Lines\nanna,Hello.", columns=columns)
    assert problem == Problem(1, "--map text=Line: no such column; the first line is 'Character', 'Lines'")


def test_an_unknown_column_is_refused_where_that_is_asked_for() -> None:
    (problem,) = rows("text,stepz,notes\na,1,2", columns=Columns(strict=True))
    assert problem == Problem(1, "unknown column 'stepz': did you mean 'steps'? (--strict)")


def test_an_empty_text_is_a_row_of_its_own_and_short_rows_are_too() -> None:
    assert [row.fields for row in rows("id,text\na,Hello.\nb,\nc\n") if isinstance(row, InputRow)] == [
        {"id": "a", "text": "Hello."},
        {"id": "b", "text": ""},
        {"id": "c", "text": ""},
    ]


@pytest.mark.parametrize("nothing", ["NaN", "nan", "NA", "<NA>", "null", "None", "N/A", "#N/A"])
def test_what_programs_write_for_nothing_is_nothing_where_it_may_be(nothing: str) -> None:
    text = f"id,text,seed,voice\na,{nothing},{nothing},{nothing}\n"
    assert rows(text) == [InputRow(2, {"id": "a", "text": nothing}, typed=False)]


def test_na_may_be_an_id() -> None:
    assert rows("id,text\nNA,Namibia.\nnan,None.\n") == [
        InputRow(2, {"id": "NA", "text": "Namibia."}, typed=False),
        InputRow(3, {"text": "None."}, typed=False),
    ]


def test_decimal_commas_between_semicolons() -> None:
    text = "id;text;cfg;pause_after;seed\na;Hello, 2,5 friends;2,5;0,75;7\nb;Bye;2.0;1;8\n"
    assert rows(text) == [
        InputRow(2, {"id": "a", "text": "Hello, 2,5 friends", "cfg": "2.5", "pause_after": "0.75", "seed": "7"}, False),
        InputRow(3, {"id": "b", "text": "Bye", "cfg": "2.0", "pause_after": "1", "seed": "8"}, False),
    ]
    assert rows("text;seed\na;1.500\n") == [
        Problem(2, "seed: '1.500' may be a fraction or thousands: write it without the point, or with a comma")
    ]
    assert rows("text,cfg\na,1.500\n") == [InputRow(2, {"text": "a", "cfg": "1.500"}, False)]


# Tab-separated data mostly has no quoting.


def test_a_quote_that_begins_a_cell_swallows_no_row() -> None:
    assert texts('id\ttext\nd1\t"Yes\nd2\tNobody moved.\nd3\tNo"\nd4\tGood night.\n') == [
        '"Yes',
        "Nobody moved.",
        'No"',
        "Good night.",
    ]
    assert texts('id\ttext\na\t"I came home.\nb\tIt was late."\nc\tThe end.\n') == [
        '"I came home.',
        'It was late."',
        "The end.",
    ]


def test_a_quotation_in_a_tab_separated_row_is_a_quotation() -> None:
    text = 'id\ttext\nd1\t"Stop," he said.\nd2\tNobody "moved".\nd3\t5" of snow\nd4\t"\n'
    assert texts(text) == ['"Stop," he said.', 'Nobody "moved".', '5" of snow', '"']


def test_quotes_of_a_spreadsheet_are_taken_off() -> None:
    text = 'id\ttext\tseed\na\t"He said ""no"", and\tleft."\t1\nb\t"one\n\ntwo"\t2\nc\tend\t3\n'
    assert texts(text) == ['He said "no", and\tleft.', "one\n\ntwo", "end"]
    assert [row.line for row in rows(text, "\t")] == [2, 3, 6]


def test_a_table_of_one_column_has_no_cell_of_two_lines() -> None:
    assert texts('text\n"Yes\nNobody moved.\nNo"\n') == ['"Yes', "Nobody moved.", 'No"']


@pytest.mark.parametrize("delimiter", "\t|")
def test_what_a_csv_writer_quotes_is_read_back(delimiter: str) -> None:
    written = io.StringIO()
    writer = csv.writer(written, delimiter=delimiter, lineterminator="\n")
    cells = [["1", 'a "b" c'], ["2", f"x{delimiter}y"], ["3", "two\nlines"], ["4", '"'], ["5", "plain"]]
    writer.writerows([["id", "text"], *cells])
    assert texts(written.getvalue()) == [text for _, text in cells]


# What is a table where no name says so.


@pytest.mark.parametrize(
    ("text", "delimiter"),
    [
        ("id,text\ngreet,Hello there.\n", ","),
        ("id,text\na,Hello, unquoted\n", ","),
        ('"id","text"\n"a","Hello."\n', ","),
        ("text,speaker\nHello.,anna\n", ","),
        ("Text;Speaker\nHello.;anna\n", ";"),
        ("id, text\na, Hello.\n", ","),
        ("id|text\na|Hello.\n", "|"),
        ("id\tText\na\tHello.\n", "\t"),
        ("Line no;Text;Voice actor\n1;Hello.;Anna\n2;Bye.;Ben\n", ";"),
    ],
)
def test_a_header_with_text_makes_a_table(text: str, delimiter: str) -> None:
    layout = find_layout(text, Columns())
    assert layout is not None and layout.delimiter == delimiter


@pytest.mark.parametrize(
    "text",
    [
        "text",
        "text\nHello.\nBye.\n",
        "id,text\n",
        "Text, image and sound\nHello, you, there\n",
        "The text, he said, was short.\nIt was, she said, long.\n",
        "Sound, text\nOne, two\nThree, four, five\n",
        "| id | text |\n|----|------|\n| a | Hello. |\n",
        "Name; Text\nAnna; hello; bye\n",
        "one,two\nthree,four\n",
        "name\tline\nanna\tHello.\n",
    ],
)
def test_anything_else_makes_none(text: str) -> None:
    assert find_layout(text, Columns()) is None


def test_a_mapped_column_makes_a_header() -> None:
    assert find_layout("Character,Line\nanna,Hello.\n", Columns({"text": "line"})) == Layout(",")


@pytest.mark.parametrize(
    ("make", "usual"),
    [
        (lambda n: ",".join(f"c{i}" for i in range(n)) + ",text\n" + "x," * n + "a", ","),
        (lambda n: "id\ttext\n" + 'a\t"\n' * n, "\t"),
        (lambda n: "id\ttext\n" + '""\n' * n + 'a\t"\n' + '""\n' * n, "\t"),
        (lambda n: 'id\ttext\na\t"\n' + "b\n" * n, "\t"),
        (lambda n: "text\n" + '"x\n' * n, "\t"),
        (lambda n: "text,seed\n" + "a," * n, ","),
    ],
)
def test_time_grows_with_the_table_and_no_faster(make: Callable[[int], str], usual: str) -> None:
    def cost(size: int) -> float:
        text = make(size)
        began = time.process_time()
        rows(text, usual)
        return time.process_time() - began

    cost(100)
    assert cost(40_000) < 40 * max(cost(4_000), 0.002)


@pytest.mark.parametrize(
    ("text", "texts", "notes"),
    [
        ('id\ttext\na\t"I came home.\nb\tIt was late."\n', ['"I came home.', 'It was late."'], []),
        (
            'id,text\na,"I came home.\nb,It was late."\nc,"The\nend."\n',
            ["I came home.\nb,It was late.", "The\nend."],
            ["2 rows with a quoted cell over several lines, the first in line 2"],
        ),
        (
            'id\ttext\na\tThe end.\nb\t"I came\nhome."\n',
            ["The end.", "I came\nhome."],
            ["1 row with a quoted cell over several lines, the first in line 3"],
        ),
    ],
)
def test_a_quotation_over_two_lines_is_two_lines_or_reported(text: str, texts: list[str], notes: list[str]) -> None:
    remarks, columns = Remarks(), Columns()
    layout = find_layout(text, columns)
    assert layout is not None
    rows = list(read_table(text, layout, columns, remarks))
    assert [row.fields["text"] for row in rows if isinstance(row, InputRow)] == texts
    assert remarks.notes == notes
