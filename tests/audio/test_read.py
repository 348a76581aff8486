import hashlib
import math
import os
import struct
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
import soundfile
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from voxcli.audio.read import check_voice, read_voice
from voxcli.errors import AudioError

RATE = 16_000


def speech(seconds: float, rate: int = RATE, level: float = 0.3) -> np.ndarray:
    """Return a tone that is switched four times per second; its level is `level` where it is on."""
    time = np.arange(round(seconds * rate)) / rate
    return (level * np.sin(2 * np.pi * 300 * time) * (np.sin(2 * np.pi * 4 * time) > -0.5)).astype(np.float32)


def wav_header(size: int, *, rate: int = RATE, channels: int = 1, bits: int = 16) -> bytes:
    block = channels * bits // 8
    fmt = struct.pack("<HHIIHH", 1, channels & 0xFFFF, rate, rate * block & 0xFFFFFFFF, block & 0xFFFF, bits)
    return (
        b"RIFF"
        + struct.pack("<I", size + 36 & 0xFFFFFFFF)
        + b"WAVEfmt \x10\0\0\0"
        + fmt
        + b"data"
        + struct.pack("<I", size)
    )


def pcm16(samples: np.ndarray) -> bytes:
    return (samples * 32767).astype("<i2").tobytes()


def refused(path: Path) -> str:
    """Return the reason in `read_voice`'s one-line error, after the file's name."""
    with pytest.raises(AudioError) as caught:
        read_voice(path, RATE)
    message = str(caught.value)
    assert message.startswith(f"{path}: ") and "\n" not in message
    return message.removeprefix(f"{path}: ")


def refused_early(path: Path) -> str:
    with pytest.raises(AudioError) as caught:
        check_voice(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: ") and "\n" not in message
    refused(path)
    return message.removeprefix(f"{path}: ")


FORMATS = [
    ("WAV", "PCM_U8", 0.01),
    ("WAV", "PCM_16", 1e-4),
    ("WAV", "PCM_24", 1e-6),
    ("WAV", "PCM_32", 1e-6),
    ("WAV", "FLOAT", 0),
    ("WAV", "DOUBLE", 0),
    ("WAV", "ALAW", 0.02),
    ("WAV", "ULAW", 0.02),
    ("FLAC", "PCM_16", 1e-4),
    ("FLAC", "PCM_24", 1e-6),
    ("OGG", "VORBIS", 0.1),
    ("OGG", "OPUS", 0.1),
    ("MP3", "MPEG_LAYER_III", 0.1),
    ("AIFF", "PCM_16", 1e-4),
    ("CAF", "PCM_16", 1e-4),
]


@pytest.mark.parametrize(("container", "subtype", "tolerance"), FORMATS)
@pytest.mark.parametrize("extension", ["wav", "bin", "raw"])
def test_formats_with_any_extension(
    tmp_path: Path, container: str, subtype: str, tolerance: float, extension: str
) -> None:
    path = tmp_path / f"voice.{extension}"
    original = speech(1.5)
    soundfile.write(path, original, RATE, format=container, subtype=subtype)
    check_voice(path)
    voice = read_voice(path, RATE)
    assert (voice.rate, voice.notes) == (RATE, ())
    assert abs(len(voice.samples) - len(original)) <= (0 if tolerance < 0.1 else 2000)
    length = min(len(voice.samples), len(original))
    error = voice.samples[:length] - original[:length]
    assert np.sqrt(np.mean(np.square(error))) <= tolerance
    assert voice.samples.dtype == np.float32
    assert voice.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.parametrize("rate", [8_000, 11_025, 22_050, 44_100, 48_000, 96_000, 192_000])
@pytest.mark.parametrize("channels", range(1, 9))
def test_rates_and_channels(tmp_path: Path, rate: int, channels: int) -> None:
    path = tmp_path / "voice.wav"
    mono = speech(1.1, rate)
    soundfile.write(path, np.tile(mono[:, None], channels), rate, subtype="FLOAT")
    voice = read_voice(path, RATE)
    assert len(voice.samples) == math.ceil(len(mono) * RATE / rate)
    name = {1: "mono", 2: "stereo"}.get(channels, f"{channels} channels")
    assert voice.notes == (f"{rate / 1000:g} kHz {name} -> 16 kHz mono",)


def test_channels_are_averaged(tmp_path: Path) -> None:
    path = tmp_path / "voice.wav"
    left, right = speech(1.5), speech(1.5, level=0.1)
    soundfile.write(path, np.stack([left, right], axis=1), RATE, subtype="FLOAT")
    assert np.array_equal(read_voice(path, RATE).samples, ((left.astype(float) + right) / 2).astype(np.float32))


def test_a_normal_clip_is_unchanged(tmp_path: Path) -> None:
    path = tmp_path / "voice.wav"
    integers = np.random.default_rng(0).integers(-9000, 9000, 2 * RATE, dtype=np.int16)
    soundfile.write(path, integers, RATE)
    voice = read_voice(path, RATE)
    assert np.array_equal(voice.samples * 32768, integers)
    assert voice.notes == ()


def test_the_key_depends_on_the_content_and_not_on_the_path(tmp_path: Path) -> None:
    one, two = tmp_path / "one.wav", tmp_path / "two.wav"
    soundfile.write(one, speech(1.5), RATE)
    two.write_bytes(one.read_bytes())
    assert read_voice(one, RATE).sha256 == read_voice(two, RATE).sha256
    soundfile.write(two, speech(1.6), RATE)
    assert read_voice(one, RATE).sha256 != read_voice(two, RATE).sha256


def test_a_very_quiet_recording_is_raised(tmp_path: Path) -> None:
    path = tmp_path / "voice.wav"
    quiet = (0.002 * np.random.default_rng(0).standard_normal(2 * RATE)).astype(np.float32)
    soundfile.write(path, quiet, RATE, subtype="FLOAT")
    voice = read_voice(path, RATE)
    assert np.sqrt(np.mean(np.square(voice.samples))) == pytest.approx(0.05, rel=0.01)
    assert voice.notes == ("lifted by 28 dB: its level was -54 dBFS",)


def test_the_gain_is_limited_by_the_peak(tmp_path: Path) -> None:
    path = tmp_path / "voice.wav"
    quiet = (0.002 * np.random.default_rng(0).standard_normal(2 * RATE)).astype(np.float32)
    quiet[5000] = 0.1
    soundfile.write(path, quiet, RATE, subtype="FLOAT")
    assert np.abs(read_voice(path, RATE).samples).max() == pytest.approx(0.9, rel=1e-5)


def test_samples_beyond_full_scale_are_scaled_down(tmp_path: Path) -> None:
    path = tmp_path / "voice.wav"
    soundfile.write(path, speech(1.5) * 32768, RATE, subtype="FLOAT")
    voice = read_voice(path, RATE)
    assert np.abs(voice.samples).max() == pytest.approx(1.0, rel=1e-6)
    assert "exceeded full scale" in voice.notes[0]


def test_samples_at_the_limit_of_floats_are_scaled_down_too(tmp_path: Path) -> None:
    path = tmp_path / "voice.wav"
    samples = np.full(2 * RATE, 3.4e38, np.float32)
    samples[::3] *= -1
    soundfile.write(path, samples, RATE, subtype="FLOAT")
    voice = read_voice(path, RATE)  # a warning would be an error here
    assert voice.samples.tolist()[:3] == pytest.approx([-1, 1, 1], rel=1e-6)
    assert voice.notes == ("scaled down by 3.4e+38: its samples exceeded full scale",)


def test_a_long_recording_is_cut_at_a_pause(tmp_path: Path) -> None:
    path = tmp_path / "voice.wav"
    clip = np.concatenate([speech(3.0), np.zeros(RATE // 5, np.float32), speech(4.0)])
    clip[: 3 * RATE] += 0.05
    clip[3 * RATE + RATE // 5 :] += 0.05
    soundfile.write(path, clip, RATE, subtype="FLOAT")
    voice = read_voice(path, RATE, max_s=4.0)
    assert abs(len(voice.samples) - 3.1 * RATE) <= 0.05 * RATE
    assert np.array_equal(voice.samples, clip[: len(voice.samples)])
    assert voice.notes == ("cut at a pause: 3.1 s of 7.2 s used, the limit is 4 s",)


def test_the_limits_are_inclusive(tmp_path: Path) -> None:
    path = tmp_path / "voice.wav"
    soundfile.write(path, speech(2.0, 44_100), 44_100)
    assert len(read_voice(path, RATE, min_s=2.0, max_s=2.0).samples) == 2 * RATE


def test_missing_folder_pipe_and_bad_names(tmp_path: Path) -> None:
    assert refused_early(tmp_path / "none.wav") == "no such file"
    assert refused_early(tmp_path) == "this is a folder, not a sound file"
    pipe = tmp_path / "pipe.wav"
    os.mkfifo(pipe)
    assert refused_early(pipe) == "not a regular file"
    with pytest.raises(AudioError, match="can't be opened"):
        check_voice(Path("nul\0name.wav"))
    with pytest.raises(AudioError, match=r"line\\nbreak.wav: no such file"):
        check_voice(tmp_path / "line\nbreak.wav")


def test_no_permission(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "voice.wav"
    soundfile.write(path, speech(1.5), RATE)

    def denied(*_: object) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "open", denied)
    assert refused_early(path) == "no permission to read it"


def test_empty_text_and_header_only(tmp_path: Path) -> None:
    path = tmp_path / "voice.wav"
    path.write_bytes(b"")
    assert refused_early(path) == "the file is empty"
    path.write_text("This is a text, renamed.\n" * 100)
    assert refused_early(path) == "not a sound file that can be read (Format not recognised)"
    path.write_bytes(wav_header(0))
    assert refused_early(path) == "there is no sound in it, only a header"
    path.write_bytes(wav_header(0)[:20])
    assert refused_early(path).startswith("not a sound file that can be read (")


@pytest.mark.parametrize(("container", "subtype"), [(container, subtype) for container, subtype, _ in FORMATS])
def test_truncated_files_are_rejected(tmp_path: Path, container: str, subtype: str) -> None:
    path = tmp_path / "voice.wav"
    noise = (0.1 * np.random.default_rng(0).standard_normal(6 * RATE)).astype(np.float32)
    soundfile.write(path, noise, RATE, format=container, subtype=subtype)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) * 6 // 10])
    assert any(words in refused_early(path) for words in ("cut off", "malformed"))


@pytest.mark.parametrize("promised", [4_000_000_000, 2_000_000_000, 200_000])
def test_a_header_with_too_large_a_size(tmp_path: Path, promised: int) -> None:
    path = tmp_path / "voice.wav"
    path.write_bytes(wav_header(promised) + pcm16(speech(1.5)))
    tracemalloc.start()
    assert "the file is cut off" in refused_early(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10_000_000


@pytest.mark.parametrize("unknown", [0xFFFFFFFF, 0x7FFFFFFF, 0x7FFFF000])
def test_a_recording_to_a_pipe_has_no_length_and_is_read(tmp_path: Path, unknown: int) -> None:
    path = tmp_path / "voice.wav"
    path.write_bytes(wav_header(unknown) + pcm16(speech(1.5)))
    check_voice(path)
    assert len(read_voice(path, RATE).samples) == 1.5 * RATE


@pytest.mark.parametrize(
    ("rate", "channels", "reason"),
    [
        (1, 1, "its sample rate is 1 Hz; 8,000 to 192,000 Hz can be used"),
        (10_000_000, 1, "its sample rate is 10,000,000 Hz; 8,000 to 192,000 Hz can be used"),
        (RATE, 64, "it has 64 channels; up to 8 can be used"),
        (RATE, 1000, "it has 1000 channels; up to 8 can be used"),
        (RATE, 0, "not a sound file that can be read ("),
        (0, 1, "not a sound file that can be read ("),
    ],
)
def test_hostile_rates_and_channels(tmp_path: Path, rate: int, channels: int, reason: str) -> None:
    path = tmp_path / "voice.wav"
    data = pcm16(speech(2.0))
    path.write_bytes(wav_header(len(data), rate=rate, channels=channels) + data)
    assert refused_early(path).startswith(reason)


def test_a_giant_file_is_rejected_without_reading_it(tmp_path: Path) -> None:
    path = tmp_path / "voice.wav"
    with open(path, "wb") as file:
        file.write(wav_header(0xFFFFFFFF))
        file.truncate(10_000_000_000)
    assert refused_early(path) == "the file has 10.0 GB; a voice is about a minute of speech"


def test_an_hour_takes_the_memory_of_a_minute(tmp_path: Path) -> None:
    path = tmp_path / "voice.flac"
    with soundfile.SoundFile(path, "w", samplerate=8_000, channels=1) as file:
        file.write(speech(65, 8_000))
        for _ in range(59):
            file.write(np.zeros(60 * 8_000, np.float32))
    tracemalloc.start()
    voice = read_voice(path, RATE)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert 50 < voice.duration_s <= 60
    # A minute is 4 MB at 16 kHz; the working copies are float64.
    assert peak < 40_000_000


def test_silence_and_constant_offset(tmp_path: Path) -> None:
    path = tmp_path / "voice.wav"
    for level in (0.0, 1e-5, 0.5):
        soundfile.write(path, np.full(2 * RATE, level, np.float32), RATE, subtype="FLOAT")
        assert refused(path).startswith("there is only silence in it (level ")


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_samples_that_are_not_finite(tmp_path: Path, value: float) -> None:
    path = tmp_path / "voice.wav"
    samples = speech(1.5)
    samples[[7, 9000]] = value
    soundfile.write(path, samples, RATE, subtype="FLOAT")
    assert refused(path) == "it has samples that are not finite: 2 of 24,000"


def test_the_length_in_the_error_is_rounded_down(tmp_path: Path) -> None:
    path = tmp_path / "a.wav"
    for frames, length in ((RATE - 1, "0.99"), (RATE - 200, "0.98"), (RATE // 2, "0.50")):
        soundfile.write(path, speech(2.0)[:frames], RATE)
        assert refused(path) == f"only {length} s long; a voice needs at least 1 s"
    soundfile.write(path, speech(2.0)[:RATE], RATE)
    check_voice(path)
    path.write_bytes(wav_header(2 * 1000 * RATE) + pcm16(speech(998.0, level=0.5)))
    assert refused_early(path) == "the file is cut off; only 99% of the sound its header promises is there"


def odd_files(folder: Path) -> dict[str, Path]:
    """Some of these files can be a voice, others can't."""
    rng = np.random.default_rng(0)
    noise = rng.uniform(-1, 1, 5 * RATE)
    late = np.concatenate((np.zeros(4 * RATE), speech(2.0)))
    sounds = {
        "speech": (speech(3.0), "PCM_16"),
        "silence": (np.zeros(3 * RATE), "PCM_16"),
        "offset": (np.full(3 * RATE, 0.5), "PCM_16"),
        "late": (late, "PCM_16"),
        "very late": (np.concatenate((np.zeros(61 * RATE), speech(2.0))), "PCM_16"),
        "a click": (np.concatenate((np.zeros(RATE), [0.9], np.zeros(3 * RATE))), "PCM_16"),
        "short": (speech(0.9), "PCM_16"),
        "nearly short": (speech(1.0), "PCM_16"),
        "NaN late": (np.concatenate((speech(5.0), [np.nan])), "FLOAT"),
        "infinite": (np.concatenate(([np.inf], speech(2.0))), "DOUBLE"),
        "NaN too late": (np.concatenate((speech(61.0), [np.nan])), "FLOAT"),
        "float": (speech(2.0), "FLOAT"),
        **{f"level {level:g}": (level * noise, "PCM_24") for level in (3e-5, 1e-4, 1.7e-4, 1.8e-4, 2e-4, 1e-3, 2e-3)},
    }
    for name, (samples, subtype) in sounds.items():
        soundfile.write(folder / f"{name}.wav", samples, RATE, subtype=subtype)
    return {name: folder / f"{name}.wav" for name in sounds}


def test_unusable_voices_are_found_by_the_check(tmp_path: Path) -> None:
    refused_by: dict[str, list[str]] = {"check_voice": [], "read_voice": []}
    for name, path in odd_files(tmp_path).items():
        for look in (check_voice, lambda path: read_voice(path, RATE)):
            try:
                look(path)
            except AudioError as error:
                refused_by["check_voice" if look is check_voice else "read_voice"].append(f"{name}: {error}")
    assert refused_by["check_voice"] == refused_by["read_voice"]
    names = [line.split(":")[0] for line in refused_by["check_voice"]]
    assert names == [
        "silence",
        "offset",
        "very late",
        "short",
        "NaN late",
        "infinite",
        "level 3e-05",
        "level 0.0001",
        "level 0.00017",
    ]


def test_the_check_of_a_usual_recording_reads_seconds_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    soundfile.write(tmp_path / "a.wav", speech(600.0), RATE)
    read = soundfile.SoundFile.read
    frames = 0

    def counted(self: soundfile.SoundFile, *arguments: object, **values: object) -> np.ndarray:
        nonlocal frames
        block = read(self, *arguments, **values)
        frames += len(block)
        return block

    monkeypatch.setattr(soundfile.SoundFile, "read", counted)
    check_voice(tmp_path / "a.wav")
    assert frames < 4 * RATE


def test_too_short(tmp_path: Path) -> None:
    path = tmp_path / "voice.wav"
    soundfile.write(path, speech(0.4), RATE)
    assert refused(path) == "only 0.40 s long; a voice needs at least 1 s"
    assert len(read_voice(path, RATE, min_s=0.3).samples) == 0.4 * RATE


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(at=st.integers(0, 43), value=st.binary(min_size=1, max_size=4), length=st.integers(0, 3000))
def test_any_header_gives_a_voice_or_one_line(tmp_path: Path, at: int, value: bytes, length: int) -> None:
    path = tmp_path / "voice.wav"
    data = bytearray(wav_header(3000) + pcm16(speech(0.1)))[: 44 + length]
    data[at : at + len(value)] = value
    path.write_bytes(data)
    try:
        check_voice(path)
        voice = read_voice(path, RATE, min_s=0.01)
    except AudioError as error:
        assert str(error).startswith(f"{path}: ") and "\n" not in str(error)
    else:
        assert np.isfinite(voice.samples).all()


TONE = (0.3 * np.sin(np.arange(2 * RATE) / 20)).astype(np.float32)


@pytest.mark.parametrize(
    ("shares", "used", "note"),
    [
        ([1.0, -1.0], 1, "channel 1 of 2 used: mixed they are silent"),
        ([-0.5, 0.6], 2, "channel 2 of 2 used: mixed they would be 22 dB quieter"),
        ([0, 0, 0, 0, 0, 1.0, 0, 0], 6, "channel 6 of 8 used: mixed they would be 18 dB quieter"),
        ([1.0, 0.0], 0, ""),
        ([1.0, 0.8], 0, ""),
    ],
)
def test_channels_that_cancel_each_other_out_are_not_mixed(
    tmp_path: Path, shares: list[float], used: int, note: str
) -> None:
    """A recorder with the poles of one cable exchanged: each channel is loud, and their mean is silent."""
    path = tmp_path / "a.wav"
    channels = TONE[:, None] * np.array(shares, np.float32)
    soundfile.write(path, channels, RATE, subtype="FLOAT")
    check_voice(path)
    voice = read_voice(path, RATE)
    expected = channels[:, used - 1] if used else channels.mean(axis=1)
    np.testing.assert_allclose(voice.samples, expected, atol=1e-6)
    assert [text for text in voice.notes if text.startswith("channel")] == [note] * bool(note)


def test_silence_in_all_channels_stays_silence(tmp_path: Path) -> None:
    soundfile.write(tmp_path / "a.wav", np.full((2 * RATE, 2), (0.5, -0.5), np.float32), RATE, subtype="FLOAT")
    with pytest.raises(AudioError, match="there is only silence in it"):
        check_voice(tmp_path / "a.wav")


@pytest.mark.parametrize(
    ("name", "head", "what"),
    [
        ("a b.m4a", b"\0\0\0\x20ftypM4A \0\0\2\0", "an MPEG-4 audio file (AAC)"),
        ("a b.mp4", b"\0\0\0\x20ftypisom\0\0\2\0", "an MPEG-4 file"),
        ("a b.wav", b"\xff\xf1\x50\x80\x2b\xbf\xfc", "an AAC file"),
        ("a b.webm", b"\x1a\x45\xdf\xa3\x9f\x42\x86", "a Matroska or WebM file"),
        ("a b.wma", b"\x30\x26\xb2\x75\x8e\x66\xcf\x11", "a Windows Media file"),
        ("a b.amr", b"#!AMR\n", "an AMR recording"),
        ("a b.avi", b"RIFF\0\0\0\0AVI LIST", "an AVI video"),
    ],
)
def test_phone_formats_are_reported_with_a_conversion_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, head: bytes, what: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(name).write_bytes(head + bytes(range(256)) * 20)
    expected = f"{name}: {what}, which can't be read here; convert it first: ffmpeg -i '{name}' 'a b.wav'"
    if name == "a b.wav":
        expected = expected.replace("'a b.wav' 'a b.wav'", "'a b.wav' 'a b.converted.wav'")
    with pytest.raises(AudioError) as caught:
        check_voice(Path(name))
    assert str(caught.value) == expected
