"""README's tables are those the code makes, and its commands are those CI runs."""

from __future__ import annotations

from pathlib import Path

from tests.readme import MARKED, README, TABLES, written
from voxcli import errors
from voxcli.cli.main import ENDED, EXIT_CODES
from voxcli.inputs.schema import FIELD_NAMES, Row
from voxcli.jobs.result import Result

TEST_COMMAND = 'pip install -c constraints.txt ".[test]" && pytest'


def test_the_tables_are_those_of_the_code() -> None:
    text = README.read_text(encoding="utf-8")
    assert MARKED.findall(text) == list(TABLES)
    assert text == written(text), "run `python -m tests.readme`"


def test_the_tables_are_whole() -> None:
    for name, fields in (("manifest", FIELD_NAMES), ("results", tuple(Result.__dataclass_fields__))):
        first_cells = [line.split("`")[1] for line in TABLES[name]().splitlines()[2:]]
        assert sorted(first_cells) == sorted(fields)
    assert all(field.description for field in Row.model_fields.values())


def test_every_error_has_a_meaning() -> None:
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.VoxError)]
    assert {kind.exit_code for kind in kinds} | {0, *ENDED} == EXIT_CODES.keys()


def test_ci_ends_with_the_test_command(repository: Path) -> None:
    assert TEST_COMMAND in (repository / "README.md").read_text(encoding="utf-8")
    last = (repository / ".ci" / "run").read_text(encoding="utf-8").rstrip().splitlines()[-1]
    assert last == TEST_COMMAND


def test_the_sample_chapter_has_a_paragraph_a_line(repository: Path) -> None:
    lines = (repository / "samples" / "chapter.txt").read_text(encoding="utf-8").splitlines()
    assert not any(lines[1::2]) and all(lines[::2]), "as a manifest it would break sentences"
