from __future__ import annotations

import os
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import soundfile

from voxcli.audio.wavstream import WavStream, wav_header

RATE = 22_050
SAMPLES = np.arange(300, dtype=np.int16)


def test_the_header_equals_that_of_a_wav_file(tmp_path: Path) -> None:
    soundfile.write(tmp_path / "a.wav", np.zeros(10), 22_050, subtype="PCM_16")
    theirs = (tmp_path / "a.wav").read_bytes()[:44]
    ours = wav_header(22_050)
    assert len(ours) == 44
    assert (ours[:4], ours[8:40]) == (theirs[:4], theirs[8:40])
    assert struct.unpack("<I", ours[40:]) == (0xFFFFFFFF,)


@pytest.mark.parametrize("mode", ["wb", "ab"])
@pytest.mark.parametrize("before", [b"", b"something else"])
def test_a_file_gets_its_final_sizes(tmp_path: Path, mode: str, before: bytes) -> None:
    """`>`, `>>`, and a file to which a shell has written before."""
    path = tmp_path / "a.wav"
    path.write_bytes(before if mode == "ab" else b"")
    with open(path, mode) as sink:
        if mode == "wb":
            sink.write(before)
            sink.flush()
        stream = WavStream(sink, RATE)
        for part in (SAMPLES[:100], SAMPLES[100:]):
            stream.write(part.tobytes())
        stream.put_sizes()
        sink.write(b"after")
    content = path.read_bytes()
    assert content.startswith(before) and content.endswith(b"after")
    whole = tmp_path / "whole.wav"
    whole.write_bytes(content[len(before) : -len(b"after")])
    soundfile.write(tmp_path / "theirs.wav", SAMPLES, RATE, subtype="PCM_16")
    assert whole.read_bytes() == (tmp_path / "theirs.wav").read_bytes()


def test_a_pipe_gets_no_final_sizes() -> None:
    read, write = os.pipe()
    with open(write, "wb") as sink:
        stream = WavStream(sink, RATE)
        stream.write(SAMPLES.tobytes())
        stream.put_sizes()
    with open(read, "rb") as source:
        assert source.read() == wav_header(RATE) + SAMPLES.tobytes()


@pytest.mark.parametrize("redirection", [">", ">>"])
def test_a_file_as_stdout_is_a_complete_wav_file(tmp_path: Path, brief_checkpoint: Path, redirection: str) -> None:
    speak = f"synth Hello. -o - --seed 3 --steps 2 --max-seconds 0.2 --allow-truncated --model {brief_checkpoint}"
    subprocess.run(
        f"{sys.executable} -m voxcli {speak} {redirection} a.wav",
        shell=True,
        check=True,
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parent.parent.parent)},
    )
    content = (tmp_path / "a.wav").read_bytes()
    assert struct.unpack("<I", content[4:8]) == (len(content) - 8,)
    assert struct.unpack("<I", content[40:44]) == (len(content) - 44,)
    assert 0 < soundfile.info(tmp_path / "a.wav").duration <= 0.2
