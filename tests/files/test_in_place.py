"""Files changed in place: which files are opened and which are refused."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from voxcli.files.in_place import has_other_names, open_in_place

LINKS = pytest.mark.skipif(os.name == "nt", reason="links need rights of their own there")


def test_a_file_is_made_and_then_appended_to(tmp_path: Path) -> None:
    for content in (b"one\n", b"two\n"):
        with open_in_place(tmp_path / "file") as file:
            file.write(content)
            assert not has_other_names(file)
            file.seek(0)
            assert file.read().endswith(content)
    assert (tmp_path / "file").read_bytes() == b"one\ntwo\n"


@LINKS
@pytest.mark.parametrize("there", [True, False])
def test_no_link_is_followed(there: bool, tmp_path: Path) -> None:
    if there:
        (tmp_path / "outside").write_text("mine")
    (tmp_path / "file").symlink_to(tmp_path / "outside")
    with pytest.raises(OSError, match=r"^a link$"):
        open_in_place(tmp_path / "file")
    assert (tmp_path / "outside").exists() == there


@LINKS
def test_a_hard_link_is_seen(tmp_path: Path) -> None:
    (tmp_path / "outside").write_text("mine")
    os.link(tmp_path / "outside", tmp_path / "file")
    with open_in_place(tmp_path / "file") as file:
        assert has_other_names(file)


def test_a_folder_is_none(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError):
        open_in_place(tmp_path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names here")
def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "file")
    with pytest.raises(OSError, match=r"^not a regular file$"):
        open_in_place(tmp_path / "file")
