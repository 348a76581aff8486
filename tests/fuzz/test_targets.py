"""The targets of the fuzz run on inputs to begin with, on spoiled ones, and on what hypothesis makes of the grammar."""

from __future__ import annotations

import json
import random
import resource
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fuzz.seeds import SOUNDS, seeds, sound, wav_header
from tests.fuzz.targets import RATE, SCRATCH, TARGETS, audio, manifest, repeated, text
from voxcli.audio.read import read_voice
from voxcli.errors import AudioError, ManifestError
from voxcli.inputs.manifest import read_manifest
from voxcli.inputs.schema import FIELD_NAMES

QUICK = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@pytest.mark.parametrize("name", TARGETS)
def test_inputs_to_begin_with_and_spoiled_ones(name: str) -> None:
    if name == "workbook":
        pytest.importorskip("python_calamine")
    rng = random.Random(name)
    for data in seeds()[name]:
        TARGETS[name](data)
        for _ in range(6):
            spoiled = bytearray(data)
            for _ in range(rng.randint(1, 4)):
                spoiled[rng.randrange(min(len(spoiled), 300))] = rng.choice(
                    [0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)]
                )
            TARGETS[name](bytes(spoiled[: rng.choice([len(spoiled), rng.randint(1, len(spoiled))])]))


NASTY = st.sampled_from(
    ["..", "/", "\\", "C:", "\x00", "a", ".wav", "con", " ", ".", "\u202e", "é", "\ud83d", "~", "-"]
)
PATHS = st.lists(NASTY, max_size=8).map("".join)
VALUES = st.one_of(PATHS, st.text(max_size=20), st.integers(), st.floats(), st.booleans(), st.none(), st.just([{}]))


@QUICK
@given(rows=st.lists(st.dictionaries(st.sampled_from(FIELD_NAMES), VALUES, max_size=6), max_size=4))
def test_lines_of_any_fields(rows: list[dict[str, Any]]) -> None:
    for row in rows:
        row.setdefault("text", "Hello.")
    manifest(b"\0\0" + "\n".join(map(json.dumps, rows)).encode())
    manifest(b"\1\0" + json.dumps(rows).encode())


def written(out: str) -> Path | None:
    """The file of a line, from the output folder; None where the line is refused."""
    path = SCRATCH / "paths.jsonl"
    path.write_text(json.dumps({"text": "Hello.", "out": out}))
    try:
        (job,) = read_manifest(str(path), SCRATCH / "out").jobs
    except ManifestError:
        return None
    return job.out.relative_to(SCRATCH / "out")


@QUICK
@given(out=PATHS)
def test_no_path_leaves_the_output_folder(out: str) -> None:
    if (file := written(out)) is not None:
        assert not file.is_absolute() and ".." not in file.parts and file.suffix == ".wav"
        assert (SCRATCH / "out" / file).resolve().is_relative_to((SCRATCH / "out").resolve())


@pytest.mark.parametrize(
    ("out", "file"),
    [
        ("a.wav", "a.wav"),
        ("./a/./b//c.wav", "a/b/c.wav"),
        ("a\\b.wav", "a/b.wav"),
        ("a/", "a.wav"),
        ("..wav", "..wav"),
        ("a~/b..wav", "a~/b..wav"),
        ("é", "é.wav"),
    ],
)
def test_what_a_path_inside_the_folder_becomes(out: str, file: str) -> None:
    assert written(out) == Path(file)


@pytest.mark.parametrize(
    "out",
    ["", ".", "..", "/", "a/..", "../a.wav", "a/../b.wav", "..\\a.wav", "/a.wav", "//a.wav", "\\a.wav", "C:a.wav"],
)
def test_what_is_no_path_inside_the_folder_is_refused(out: str) -> None:
    assert written(out) is None


@pytest.mark.parametrize("out", ["C:\\a.wav", "C:/a.wav", "a\0.wav", "\ud83d.wav", "a.txt", "results.jsonl"])
def test_what_is_no_sound_file_or_none_at_all_is_refused(out: str) -> None:
    assert written(out) is None


@QUICK
@given(words=st.text(max_size=400), bound=st.integers(0, 255))
def test_any_text(words: str, bound: int) -> None:
    text(bytes([bound]) + words.encode(errors="replace"))


@QUICK
@given(parts=st.lists(st.text(max_size=4), min_size=3, max_size=3), often=st.integers(0, 60), bound=st.integers(0, 255))
def test_anything_repeated(parts: list[str], often: int, bound: int) -> None:
    repeated(bytes([bound, often]) + "\0".join(parts).encode(errors="replace"))


@pytest.mark.parametrize("kind", SOUNDS, ids=lambda kind: "-".join(map(str, kind)))
def test_a_sound_of_every_kind_is_a_voice(kind: tuple[str, str, int, int]) -> None:
    path = SCRATCH / "good"
    path.write_bytes(sound(*kind))
    assert read_voice(path, RATE).duration_s == pytest.approx(1.1, abs=0.1)


@QUICK
@given(
    size=st.sampled_from([0, 1, 19_999, 2**31, 2**32 - 1]),
    rate=st.sampled_from([0, 1, 7_999, 8_000, 192_001, 10_000_000, 2**32 - 1]),
    channels=st.sampled_from([0, 1, 2, 64, 65_535]),
    bits=st.sampled_from([0, 1, 8, 16, 24, 32, 64, 65_535]),
)
def test_any_header(size: int, rate: int, channels: int, bits: int) -> None:
    audio(wav_header(size, rate=rate, channels=channels, bits=bits) + bytes(range(256)) * 80)


@pytest.mark.parametrize(
    ("header", "reason"),
    [
        ({"size": 2**32 - 2**20}, "the file is cut off; only 0% of the sound its header promises is there"),
        ({"size": 20_480, "channels": 64}, "it has 64 channels; up to 8 can be used"),
        ({"size": 20_480, "rate": 1}, "its sample rate is 1 Hz; 8,000 to 192,000 Hz can be used"),
        ({"size": 20_480, "rate": 10_000_000}, "its sample rate is 10,000,000 Hz; 8,000 to 192,000 Hz can be used"),
    ],
)
def test_what_a_header_claims_is_refused_in_one_line_and_no_memory(header: dict[str, int], reason: str) -> None:
    path = SCRATCH / "claims.wav"
    path.write_bytes(wav_header(**header) + bytes(20_480))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(AudioError) as caught:
        read_voice(path, RATE)
    assert str(caught.value) == f"{path}: {reason}"
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 20_000, "kilobytes"


def test_ten_hours_take_the_memory_of_a_minute() -> None:
    """A file with holes: ten hours of 16 kHz are 1.15 GB, more than is read at all; nine of 8 kHz, 8 bit are not."""
    path = SCRATCH / "hours.wav"
    for rate, bits, hours, fits in ((16_000, 16, 10, False), (8_000, 8, 10, True)):
        size = hours * 3600 * rate * bits // 8
        tone = sound("WAV", "PCM_16" if bits == 16 else "PCM_U8", rate, 1, seconds=90)[44:]
        with open(path, "wb") as file:
            file.write(wav_header(size, rate=rate, bits=bits) + tone)
            file.truncate(44 + size)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        if fits:
            assert 50 < read_voice(path, RATE).duration_s <= 60
        else:
            with pytest.raises(AudioError, match=r"the file has 1\.2 GB; a voice is about a minute of speech"):
                read_voice(path, RATE)
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000, "kilobytes"
        path.unlink()
