from __future__ import annotations

import os
from pathlib import Path

import pytest

from voxcli.audio.write import TEMPORARY
from voxcli.errors import InputError, OutputError
from voxcli.files.names import safe_name
from voxcli.files.write import prepare_folder, sweep
from voxcli.jobs.output_paths import OutputFolder, format_of


@pytest.mark.parametrize(
    ("identity", "name"),
    [
        ("chapter 1", "chapter 1"),
        ("a/b\\c:d", "a_b_c_d"),
        ("..", "_"),
        ("con", "_con"),
        ("LPT1.txt", "_LPT1.txt"),
        ("trailing. ", "trailing"),
        ("tab\there\x00", "tab_here_"),
        ("好", "好"),
        ("é", "é"),
    ],
)
def test_names_are_safe_on_every_system(identity: str, name: str) -> None:
    assert safe_name(identity) == name


def test_a_long_name_is_cut_at_a_whole_character() -> None:
    assert safe_name("好" * 200) == "好" * 60


@pytest.mark.parametrize(
    "out",
    [
        "../a.wav",
        "a/../../b.wav",
        "/etc/a.wav",
        "C:\\a.wav",
        "c:a.wav",
        "\\\\host\\share\\a.wav",
        "a\x00.wav",
        "",
        "..",
    ],
)
def test_no_path_leaves_the_folder(tmp_path: Path, out: str) -> None:
    with pytest.raises(InputError, match="inside the output folder"):
        OutputFolder(tmp_path).path_for(out, "id", None)


@pytest.mark.skipif(os.name == "nt", reason="links need a right on Windows")
def test_no_path_leaves_the_folder_through_a_link(tmp_path: Path) -> None:
    inside = tmp_path / "in"
    (tmp_path / "elsewhere").mkdir()
    inside.mkdir()
    (inside / "link").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InputError, match="through a link"):
        OutputFolder(inside).path_for("link/a.wav", "id", None)


def test_a_file_gets_the_suffix_of_its_format(tmp_path: Path) -> None:
    folder = OutputFolder(tmp_path)
    assert folder.path_for(None, "a", None) == tmp_path / "a.wav"
    assert folder.path_for(None, "a", "mp3") == tmp_path / "a.mp3"
    assert folder.path_for("x/y", "a", "flac") == tmp_path / "x" / "y.flac"


@pytest.mark.parametrize(
    ("name", "named", "expected"),
    [
        ("a.wav", None, "wav"),
        ("a.WAV", "wav24", "wav24"),
        ("a.flac", None, "flac"),
        ("a.ogg", None, "ogg"),
        ("a.opus", None, "opus"),
        ("a.wav", "ulaw", "ulaw"),
    ],
)
def test_the_name_sets_the_format(name: str, named: str | None, expected: str) -> None:
    assert format_of(Path(name), named) == expected


@pytest.mark.parametrize("name", ["a.aac", "a", "-", "a.wav.part"])
def test_an_unknown_suffix_is_refused(name: str) -> None:
    with pytest.raises(InputError, match=r"end its name with one of \.wav, \.flac, \.ogg, \.opus, \.mp3"):
        format_of(Path(name), None)


def test_a_folder_is_made_and_leaves_no_trace(tmp_path: Path) -> None:
    prepare_folder(tmp_path / "a" / "b")
    assert list((tmp_path / "a" / "b").iterdir()) == []


def test_a_folder_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OutputError, match="is a file, not a folder"):
        prepare_folder(tmp_path / "file")
    with pytest.raises(OutputError, match="can't create the folder"):
        prepare_folder(tmp_path / "file" / "below")


def test_a_folder_on_a_read_only_system_is_refused() -> None:
    if not Path("/proc/self").is_dir():
        pytest.skip("needs a folder that nobody, root included, can write")
    with pytest.raises(OutputError, match="can't write in"):
        prepare_folder(Path("/proc/self"))


def test_a_sweep_removes_only_old_leftovers_of_killed_runs(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    old, young, linked = (
        folder / TEMPORARY.replace("*", letter * 32)
        for folder, letter in ((tmp_path / "sub", "a"), (tmp_path, "b"), (tmp_path, "c"))
    )
    others = [tmp_path / name for name in ("a.part", ".voxcpm2-notes.part", f".voxcpm2-{'a' * 33}.part")]
    for path, age in ((old, 100.0), (young, 300.0), *((other, 100.0) for other in others)):
        path.touch()
        os.utime(path, (age, age))
    linked.symlink_to(others[0])
    os.utime(linked, (100.0, 100.0), follow_symlinks=False)
    sweep([tmp_path, tmp_path / "sub", tmp_path / "none", tmp_path / "a.part"], 200.0)
    assert not old.exists() and not linked.is_symlink()
    assert young.exists()
    assert all(other.exists() for other in others)
