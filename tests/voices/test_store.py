from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from voxcli.errors import InputError
from voxcli.voices.store import (
    VoiceInfo,
    check_new,
    check_voice_file,
    read_info,
    read_latents,
    read_recording,
    remove_voice,
    voice_names,
    voice_path,
    voices_folder,
    write_voice,
)

INFO = VoiceInfo(encoder="e", recording="anna.wav", sha256="0" * 64, seconds=2.5, text="Say é.", notes=("lifted",))
LATENTS = {"reference": np.arange(16, dtype=np.float32).reshape(2, 2, 4)}


def test_a_voice_comes_back_as_it_was_written() -> None:
    path = voice_path("anna")
    assert path == voices_folder() / "anna.safetensors"
    write_voice(path, INFO, LATENTS)
    assert read_info(path) == INFO
    assert {name: values.tolist() for name, values in read_latents(path).items()} == {
        "reference": LATENTS["reference"].tolist()
    }
    assert voice_names() == ["anna"]
    assert load_file(path).keys() == {"reference"}, "any safetensors reader can open it"


def test_a_voice_has_its_recording_beside_its_latents() -> None:
    path = voice_path("anna")
    write_voice(path, INFO, LATENTS, b"fLaC...")
    assert read_recording(path) == b"fLaC..." and read_latents(path).keys() == {"reference"}
    write_voice(path, INFO, LATENTS)
    assert read_recording(path) is None
    write_voice(path, INFO, {**LATENTS, "recording": LATENTS["reference"]})
    with pytest.raises(InputError, match=r"anna\.safetensors is damaged: its recording is no file"):
        read_recording(path)


def test_a_voice_may_lie_anywhere(tmp_path: Path) -> None:
    assert voice_path("voices/ben.safetensors", tmp_path) == tmp_path / "voices" / "ben.safetensors"


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "a\\b", "../a", "-x", "a b", "nul", "x" * 65, "a:b", "a."])
def test_names_that_are_no_file_names_are_refused(name: str) -> None:
    with pytest.raises(InputError, match="a voice name consists of letters, digits, -, _ and dots, not"):
        voice_path(name)


@pytest.mark.parametrize("name", ["anna", "Änna", "安娜", "anna-2.warm_low", "7"])
def test_names_of_any_script(name: str) -> None:
    write_voice(check_new(name, replace=False), INFO, LATENTS)
    assert len(voice_names()) == 1
    with pytest.raises(InputError, match="already; --force replaces it"):
        check_new(name, replace=False)
    assert check_new(name, replace=True) == voice_path(name)


def test_a_missing_voice_names_those_there_are() -> None:
    with pytest.raises(InputError) as caught:
        read_info(voice_path("anna"))
    assert str(caught.value) == "no voice 'anna', there are none yet; `voxcpm2 voices add anna --ref FILE` adds it"
    write_voice(voice_path("ben"), INFO, LATENTS)
    with pytest.raises(InputError, match=r"^no voice 'anna', there are ben; `voxcpm2 voices add anna"):
        remove_voice("anna")
    remove_voice("ben")
    assert voice_names() == []
    with pytest.raises(InputError, match=r"^there is no voice file here/anna\.safetensors$"):
        read_info(voice_path("here/anna.safetensors"))


@pytest.mark.parametrize("header", [None, {"voxcpm2_voice": "{}"}, {"voxcpm2_voice": '{"version": 2}'}, {"x": "y"}])
def test_files_of_another_kind_are_refused_in_one_line(tmp_path: Path, header: dict[str, str] | None) -> None:
    path = tmp_path / "a.safetensors"
    save_file(LATENTS, path, metadata=header)
    with pytest.raises(InputError, match=r"a\.safetensors is not a voice made by `voxcpm2 voices add` \(another kind"):
        read_info(path)


def test_damaged_files_are_refused_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "a.safetensors"
    path.write_bytes(b"\0" * 100)
    for read in (read_info, read_latents):
        with pytest.raises(InputError, match=r"a\.safetensors") as caught:
            read(path)
        assert "\n" not in str(caught.value)
    for latents, message in (
        ({"prompt": LATENTS["reference"]}, "it has no reference"),
        ({"reference": LATENTS["reference"][0]}, "or latents of another shape"),
        ({"reference": LATENTS["reference"][:0]}, "or latents of another shape"),
        (LATENTS, "it has a transcript but no prompt"),
    ):
        write_voice(path, INFO, latents)
        with pytest.raises(InputError, match=rf"a\.safetensors is damaged: .*{message}"):
            check_voice_file(path)
    write_voice(path, INFO, {"reference": np.full((1, 2, 4), np.nan, np.float32)})
    with pytest.raises(InputError, match="is damaged: its reference has values that are not finite"):
        read_latents(path)
