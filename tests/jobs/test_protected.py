from __future__ import annotations

import os
from pathlib import Path

import pytest

from voxcli.errors import InputError
from voxcli.jobs.job import Job
from voxcli.jobs.protected import Input, ProtectedInputs


def protected(*paths: Path) -> ProtectedInputs:
    inputs = ProtectedInputs()
    for path in paths:
        inputs.add(path, "the recording")
    return inputs


def test_an_input_is_recognized_by_all_its_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    ref = tmp_path / "voice.wav"
    ref.touch()
    os.link(ref, tmp_path / "hard.wav")
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "soft.wav").symlink_to(ref)
    (tmp_path / "linked").symlink_to(tmp_path)
    (tmp_path / "other.wav").touch()
    inputs = protected(ref)
    for name in (
        "voice.wav",
        "VOICE.wav",
        "deep/../voice.wav",
        "hard.wav",
        "deep/soft.wav",
        "linked/hard.wav",
        str(ref),
    ):
        assert inputs.at(Path(name)) == Input("the recording", ref)
        with pytest.raises(InputError) as caught:
            inputs.refuse(Path(name))
        assert str(caught.value) == f"{name} would overwrite the recording '{ref}': name another file"
    for name in ("other.wav", "new.wav", "deep/voice.wav", "nowhere/voice.wav", "a\0b.wav", "x" * 300, "x/" * 3000):
        assert inputs.at(Path(name)) is None
        inputs.refuse(Path(name))


def test_an_input_in_a_folder_is_recognized_by_its_names_there(tmp_path: Path) -> None:
    ref = tmp_path / "Voice.wav"
    ref.touch()
    (tmp_path / "deep").mkdir()
    os.link(ref, tmp_path / "deep" / "Hard.wav")
    (tmp_path / "deep" / "soft.wav").symlink_to(ref)
    (tmp_path / "deep" / "loop.wav").symlink_to("loop.wav")
    found = Input("the recording", ref)
    inputs = protected(ref)
    assert inputs.within(str(tmp_path)) == {"voice.wav": found}
    assert inputs.within(str(tmp_path / "deep")) == {"hard.wav": found, "soft.wav": found}
    assert inputs.within(str(tmp_path / "none")) == {}


def test_an_input_that_is_a_link_protects_the_link_and_its_target(tmp_path: Path) -> None:
    link, there = tmp_path / "link.wav", tmp_path / "deep" / "there.wav"
    link.symlink_to(there)
    inputs = protected(link)
    assert inputs.at(there) == inputs.at(link) == Input("the recording", link)  # neither exists yet
    there.parent.mkdir()
    there.touch()
    inputs = protected(link)
    assert inputs.at(there) == inputs.at(link) == Input("the recording", link)


def test_a_missing_input_is_recognized_by_its_path(tmp_path: Path) -> None:
    (tmp_path / "linked").symlink_to(tmp_path)
    later = tmp_path / "new" / "made-later.wav"
    inputs = protected(later)
    assert inputs.within(str(tmp_path / "linked" / "NEW")) == {"made-later.wav": Input("the recording", later)}
    assert ProtectedInputs().at(later) is None


def test_a_stream_is_the_file_that_was_redirected_to_it(tmp_path: Path) -> None:
    (tmp_path / "a.txt").touch()
    inputs = ProtectedInputs()
    with open(tmp_path / "a.txt") as stream:
        inputs.add_stream(stream, "the text")
    assert str(inputs.at(tmp_path / "a.txt")) == "the text"
    with open(tmp_path / "a.txt", "a") as stream, pytest.raises(InputError, match="stdout would overwrite the text"):
        inputs.refuse_stream(stream, "stdout")
    with open(os.devnull) as stream:
        inputs.add_stream(stream, "nothing")
    assert inputs.at(Path(os.devnull)) is None


def test_files_of_a_folder_and_voices_of_a_job(tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "config.json").touch()
    inputs = ProtectedInputs()
    inputs.add_folder(tmp_path / "model", "the model")
    inputs.add_folder(tmp_path / "none", "the model")
    inputs.add_folder(tmp_path / "model" / "config.json", "the model")
    inputs.add_voices(Job("a", "A.", tmp_path / "a.wav", voice=tmp_path / "anna.safetensors"))
    inputs.add_voices(Job("b", "B.", tmp_path / "b.wav", prompt_audio=tmp_path / "b.flac", prompt_text="B."))
    for path, what in (
        ("model/config.json", "the model"),
        ("anna.safetensors", "the voice"),
        ("b.flac", "the recording"),
    ):
        assert inputs.at(tmp_path / path) == Input(what, tmp_path / path)
