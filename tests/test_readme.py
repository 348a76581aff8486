"""The READMEs' tables match the code, README's commands run as typed, and CI runs its test command."""

from __future__ import annotations

import dataclasses
import re
import shlex
from pathlib import Path

import pytest

from tests.readme import DOCUMENTS, MARKED, TABLES, regenerated
from voxcli import errors
from voxcli.cli.main import ENDED, EXIT_CODES, run
from voxcli.inputs.schema import FIELD_NAMES, Row
from voxcli.jobs.result import Result

LIMITS = ["--allow-truncated", "--max-chars", "80"]  # the tiny model has a short context and rarely stops
LIMITED = ("synth", "clone", "batch")
TEST_COMMAND = 'pip install -c constraints.txt ".[test]" && pytest'


@pytest.mark.parametrize("name", DOCUMENTS)
def test_the_tables_match_the_code(name: str, repository: Path) -> None:
    text = (repository / name).read_text(encoding="utf-8")
    assert [found for found in MARKED.findall(text)] == DOCUMENTS[name]
    assert text == regenerated(text), "run `python -m tests.readme`"


def test_the_tables_are_complete() -> None:
    for name, fields in (
        ("manifest", FIELD_NAMES),
        ("results", tuple(field.name for field in dataclasses.fields(Result))),
    ):
        first_cells = [line.split("`")[1] for line in TABLES[name]().splitlines()[2:]]
        assert sorted(first_cells) == sorted(fields)
    assert all(field.description for field in Row.model_fields.values())


def test_every_exit_code_is_documented() -> None:
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.VoxError)]
    assert {kind.exit_code for kind in kinds} | {0, *ENDED} == EXIT_CODES.keys()


def test_ci_ends_with_the_test_command(repository: Path) -> None:
    assert TEST_COMMAND in (repository / "README.md").read_text(encoding="utf-8")
    last = (repository / ".ci" / "run").read_text(encoding="utf-8").rstrip().splitlines()[-1]
    assert last == TEST_COMMAND


def test_the_sample_chapter_has_one_paragraph_per_line(repository: Path) -> None:
    lines = (repository / "samples" / "chapter.txt").read_text(encoding="utf-8").splitlines()
    assert not any(lines[1::2]) and all(lines[::2]), "as a manifest each line is a text of its own"


def commands(text: str) -> list[list[str]]:
    """Return the arguments of each `voxcpm2` command in indented blocks."""
    lines = re.findall(r"^    (?:pip install .* && )?voxcpm2 (.+)$", text, re.MULTILINE)
    return [shlex.split(line, comments=True) for line in lines]


@pytest.mark.parametrize("name", ["README.md", "samples/README.md"])
def test_each_command_runs_as_typed_from_the_root(
    name: str, repository: Path, brief_checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "samples").symlink_to(repository / "samples")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("VOXCPM2_MODEL", str(brief_checkpoint))
    found = commands((repository / name).read_text(encoding="utf-8"))
    assert len(found) >= 6
    for arguments in found:
        if arguments[0] == "bench":
            arguments += ["--patches", "4"]
        if arguments[0] not in ("download", "COMMAND"):
            assert run([*arguments, *(LIMITS if arguments[0] in LIMITED else [])]) == 0, arguments


def test_the_readme_can_be_read_in_three_minutes(repository: Path) -> None:
    text = (repository / "README.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 100
    assert len(re.sub(r"<!--.*?-->", "", text).split()) <= 900, "300 words per minute"


@pytest.mark.parametrize(
    "name",
    [
        "README.md",
        *DOCUMENTS,
        "voxcli/README.md",
        "voxcli/api/README.md",
        "voxcli/cluster/README.md",
        "tests/README.md",
    ],
)
def test_targets_of_links_exist(name: str, repository: Path) -> None:
    page = repository / name
    for target in re.findall(r"\]\((?!http)([^)#]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target


def test_files_named_in_the_architecture_exist(repository: Path) -> None:
    text = (repository / "voxcli" / "README.md").read_text(encoding="utf-8")
    for path in set(re.findall(r"`((?:\w+/)+\w+\.py)`", text)):
        assert (repository / path).exists() or (repository / "voxcli" / path).exists(), path
