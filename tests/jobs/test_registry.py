from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from voxcli.files.places import Place, folder_place
from voxcli.jobs.protected import ProtectedInputs
from voxcli.jobs.registry import OutputRegistry


def claimed(*paths: Path) -> OutputRegistry[int]:
    registry = OutputRegistry[int]()
    for number, path in enumerate(paths):
        assert registry.claim(path, number) is None
    return registry


def test_one_file_has_one_owner_under_any_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "deep").mkdir()
    (tmp_path / "linked").symlink_to("deep")
    (tmp_path / "here").symlink_to(tmp_path)
    registry = claimed(tmp_path / "a.wav", Path("deep/a.wav"), Path("new/a.wav"), Path("caf\u00e9/a.wav"))
    for owner, paths in (
        (0, ("a.wav", "A.WAV", "here/a.wav", "here/here/A.wav", "deep/../a.wav")),
        (1, (tmp_path / "deep" / "a.wav", "linked/a.wav", "here/linked/a.wav", "DEEP/a.wav")),
        (2, ("here/new/a.wav", "NEW/A.wav", tmp_path / "new" / "a.wav")),
        (3, ("cafe\u0301/a.wav", "here/CAF\u00c9/a.wav")),
    ):
        assert [registry.claim(Path(path), 9) for path in paths] == [owner] * len(paths)
    for free in ("b.wav", "deep/b.wav", "linked/c.wav", "new/deep/a.wav"):
        assert registry.claim(Path(free), 9) is None


def test_folders_equal_on_this_or_another_system_are_one(tmp_path: Path) -> None:
    """A mount has another path but the same device and inode; two names simulate that here."""
    place = folder_place(tmp_path)
    assert place.inode is not None and place == Place(place.inode, "")
    assert folder_place(tmp_path / "A" / "b") == Place(place.inode, "a/b/")
    (tmp_path / "file").touch()
    assert folder_place(tmp_path / "file") == Place(place.inode, "file/")
    (tmp_path / "A").mkdir(), (tmp_path / "a").mkdir(exist_ok=True)
    assert claimed(tmp_path / "A" / "x.wav").claim(tmp_path / "a" / "x.wav", 1) == 0


def test_a_link_and_its_target_are_one_output(tmp_path: Path) -> None:
    """A reader of the link would find the other line's audio."""
    (tmp_path / "deep").mkdir()
    (tmp_path / "link.wav").symlink_to("deep/there.wav")
    assert claimed(tmp_path / "link.wav").claim(tmp_path / "deep" / "there.wav", 1) == 0
    assert claimed(tmp_path / "deep" / "there.wav").claim(tmp_path / "link.wav", 1) == 0
    assert claimed(tmp_path / "deep" / "other.wav").claim(tmp_path / "link.wav", 1) is None


def test_files_with_one_inode_are_two_outputs(tmp_path: Path) -> None:
    """Each name gets its own file when it is replaced."""
    (tmp_path / "a.wav").touch()
    os.link(tmp_path / "a.wav", tmp_path / "b.wav")
    claimed(tmp_path / "a.wav", tmp_path / "b.wav")


def test_outputs_that_are_inputs(tmp_path: Path) -> None:
    (tmp_path / "Out").mkdir()
    (tmp_path / "linked").symlink_to("Out")
    for name in ("m.jsonl", "Out/kept.wav"):
        (tmp_path / name).touch()
    os.link(tmp_path / "m.jsonl", tmp_path / "Out" / "Hard.wav")
    inputs = ProtectedInputs()
    inputs.add(tmp_path / "m.jsonl", "the manifest")
    inputs.add(tmp_path / "linked" / "later.wav", "the recording")
    registry = claimed(*(tmp_path / "Out" / name for name in ("kept.wav", "hard.WAV", "later.wav", "x.wav")))
    assert {(owner, str(found)) for owner, found in registry.overwritten(inputs)} == {
        (1, f"the manifest '{tmp_path}/m.jsonl'"),
        (2, f"the recording '{tmp_path}/linked/later.wav'"),
    }


def test_an_output_can_not_be_the_folder_of_another(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "linked").symlink_to("out")
    outs = (
        "out/x.wav",
        "linked/X.wav/deep/a.wav",
        "out/y/b.wav",
        "out/y/b.wav.d/c.wav",
        "out/new/n.wav",
        "linked/new/n.wav/n.wav",
    )
    registry = claimed(*(tmp_path / out for out in outs))
    assert list(registry.in_the_way()) == [(1, "x.wav", 0), (5, "n.wav", 4)]


@pytest.mark.parametrize("depth", [100, 1600])
def test_a_deep_path_costs_one_call_for_each_of_its_folders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, depth: int
) -> None:
    looks = 0

    def counted(look: Callable[..., os.stat_result]) -> Callable[..., os.stat_result]:
        def count(*arguments: Any, **values: Any) -> os.stat_result:
            nonlocal looks
            looks += 1
            return look(*arguments, **values)

        return count

    for name in ("stat", "lstat"):
        monkeypatch.setattr(os, name, counted(getattr(os, name)))
    registry = claimed(tmp_path / ("a/" * depth) / "x.wav")
    assert list(registry.in_the_way()) == []
    assert looks < 6 * (depth + 20)
