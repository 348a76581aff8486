import errno
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import soundfile

from tests import children
from voxcli.audio.formats import FORMATS, only_rate, rates_of
from voxcli.audio.write import check_output, encode_audio, write_audio, write_blocks
from voxcli.errors import OutputError
from voxcli.files.write import TEMPORARY, write_atomic

RATE = 48_000


def tone(seconds: float = 1.0) -> np.ndarray:
    time = np.arange(round(seconds * RATE)) / RATE
    return (0.5 * np.sin(2 * np.pi * 300 * time) * np.sin(np.pi * time / seconds)).astype(np.float32)


def refused(path: Path, samples: np.ndarray, rate: int = RATE, format: str = "wav") -> str:
    with pytest.raises(OutputError) as caught:
        write_audio(path, samples, rate, format=format)
    message = str(caught.value)
    assert message.startswith(f"{path}: ") and "\n" not in message
    return message.removeprefix(f"{path}: ")


@contextmanager
def file_size_limit(size: int) -> Iterator[None]:
    """Simulate a full disk: writing beyond `size` fails with EFBIG."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, before)


@pytest.mark.parametrize(
    ("format", "container", "subtype", "tolerance"),
    [
        ("wav", "WAV", "PCM_16", 2**-16),
        ("wav24", "WAV", "PCM_24", 2**-24),
        ("wavf", "WAV", "FLOAT", 0),
        ("flac", "FLAC", "PCM_16", 2**-16),
        ("ogg", "OGG", "OPUS", 0.03),
        ("opus", "OGG", "OPUS", 0.03),
        ("mp3", "MP3", "MPEG_LAYER_III", 0.03),
    ],
)
def test_formats(tmp_path: Path, format: str, container: str, subtype: str, tolerance: float) -> None:
    path = tmp_path / f"out{FORMATS[format].extension}"
    check_output(path, RATE, format=format)
    write_audio(path, tone(3.0), RATE, format=format)
    info = soundfile.info(path)
    assert (info.format, info.subtype, info.samplerate, info.channels) == (container, subtype, RATE, 1)
    samples, _ = soundfile.read(path, dtype="float32")
    assert len(samples) == 3 * RATE
    assert np.abs(samples - tone(3.0)).max() <= tolerance
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("format", ["wav", "flac", "wav24", "wavf"])
def test_sixteen_bits_survive_a_round_trip(tmp_path: Path, format: str) -> None:
    samples = np.arange(-32768, 32768, dtype=np.float32) / 32768
    write_audio(tmp_path / "out", samples, RATE, format=format)
    assert np.array_equal(soundfile.read(tmp_path / "out", dtype="float32")[0], samples)


@pytest.mark.parametrize(("format", "bits"), [("wav", 15), ("flac", 15), ("wav24", 23)])
def test_samples_are_rounded_and_not_cut_off(tmp_path: Path, format: str, bits: int) -> None:
    samples = np.random.default_rng(0).uniform(-0.9, 0.9, 100_000).astype(np.float32)
    write_audio(tmp_path / "out", samples, RATE, format=format)
    error = (soundfile.read(tmp_path / "out", dtype="float64")[0] - samples) * 2**bits
    assert np.abs(error).max() <= 0.5
    assert abs(error.mean()) < 0.01  # in steps; truncation would give -0.5


def test_the_same_samples_give_the_same_bytes_in_every_format_at_any_time(tmp_path: Path) -> None:
    """libsndfile reads the clock itself, in whole seconds, so the test waits for one."""
    made: list[dict[str, bytes]] = []
    for second in range(2):
        time.sleep(1.1 * second)
        for format in FORMATS:
            rate = only_rate(format) or RATE
            write_audio(tmp_path / format, tone(), rate, format=format)
            write_blocks(tmp_path / f"{format} in blocks", np.array_split(tone(), 3), rate, format=format)
        made.append({path.name: path.read_bytes() for path in tmp_path.iterdir()})
    assert made[0].keys() == made[1].keys() and len(made[0]) == 2 * len(FORMATS)
    assert [name for name in made[0] if made[0][name] != made[1][name]] == []
    for name in made[0]:
        assert soundfile.info(tmp_path / name).frames == RATE, name


def mu_law(code: int) -> int:
    """Decode G.711 mu-law, at 16 bit."""
    code = ~code & 0xFF
    size = (((code & 0x0F) << 3) + 0x84 << (code >> 4 & 7)) - 0x84
    return -size if code & 0x80 else size


def a_law(code: int) -> int:
    """Decode G.711 A-law, at 16 bit."""
    code ^= 0x55
    segment, step = code >> 4 & 7, (code & 0x0F) << 4
    size = step + 8 if not segment else step + 0x108 << segment - 1
    return size if code & 0x80 else -size


@pytest.mark.parametrize(("format", "decode"), [("ulaw", mu_law), ("alaw", a_law)])
def test_telephone_formats(tmp_path: Path, format: str, decode: Callable[[int], int]) -> None:
    path = tmp_path / "out.wav"
    levels = np.array([decode(code) for code in range(256)])
    every = np.arange(-32768, 32768)
    write_audio(path, np.concatenate((levels, every)) / 32768, 8_000, format=format)
    info = soundfile.info(path)
    assert (info.format, info.subtype, info.samplerate) == ("WAV", format.upper(), 8_000)
    data = path.read_bytes()
    codes = np.frombuffer(data[data.index(b"data") + 8 :], np.uint8)[: 256 + len(every)]
    assert levels[codes[:256]].tolist() == levels.tolist()  # 0 has two codes in mu-law
    error = np.abs(levels[codes[256:]] - every)
    steps = np.diff(np.unique(levels))
    inside = np.abs(every) <= levels.max()
    place = np.searchsorted(np.unique(levels), every[inside]).clip(1, len(steps))
    assert (error[inside] <= steps[place - 1]).all(), "the code of a neighbouring level"
    assert error.mean() < 174  # of the nearest levels 172.99 and 170.68
    write_audio(path, np.array([2.0, -2.0] * 10), 8_000, format=format)
    assert soundfile.read(path, dtype="int16")[0].tolist() == [levels.max(), -levels.max()] * 10
    assert refused(path, tone(), format=format) == f"{format} can't hold 48 kHz, only 8 kHz"


# what ffprobe finds in the files: a frame header of MP3 names its bitrate
MP3_KBPS = {1: (32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320)}
MP3_KBPS[2] = (8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160)


def mp3_kbps(data: bytes) -> int:
    """Return the bitrate in the first frame of an MP3 file with audio (ISO 11172-3, 2.4.2.3)."""
    place = next(at for at in range(len(data)) if data[at] == 0xFF and data[at + 1] & 0xE6 == 0xE2)
    return MP3_KBPS[1 if data[place + 1] & 0x18 == 0x18 else 2][(data[place + 2] >> 4) - 1]


@pytest.mark.parametrize(
    ("rate", "wanted", "found"),
    [
        (48000, 96, 96),
        (48000, 100, 96),
        (48000, 8, 32),
        (48000, 320, 320),
        (24000, 64, 64),
        (24000, 6, 8),
        (24000, 320, 160),
        (16000, 24, 24),
        (8000, 320, 64),
        (44100, 256, 256),
    ],
)
def test_an_mp3_has_the_bitrate_asked_for(tmp_path: Path, rate: int, wanted: int, found: int) -> None:
    write_audio(tmp_path / "a.mp3", tone(3.0), rate, format="mp3", bitrate=wanted)
    data = (tmp_path / "a.mp3").read_bytes()
    assert mp3_kbps(data) == found
    seconds = 3.0 * RATE / rate
    assert len(data) * 8 / seconds == pytest.approx(1000 * found, rel=0.1)


@pytest.mark.parametrize("wanted", [16, 64, 128, 256])
def test_an_opus_file_has_the_bitrate_asked_for(tmp_path: Path, wanted: int) -> None:
    sound = np.random.default_rng(0).normal(0, 0.1, 5 * RATE).astype(np.float32)
    write_audio(tmp_path / "a.opus", sound, RATE, format="opus", bitrate=wanted)
    assert (tmp_path / "a.opus").stat().st_size * 8 / 5 == pytest.approx(1000 * wanted, rel=0.2)
    assert encode_audio(sound, RATE, format="opus", bitrate=wanted) == (tmp_path / "a.opus").read_bytes()


def test_beyond_full_scale_is_clipped_not_wrapped(tmp_path: Path) -> None:
    path = tmp_path / "out.wav"
    write_audio(path, np.array([2.0, -2.0, 0.5]), RATE)
    assert soundfile.read(path, dtype="int16")[0].tolist() == [32767, -32768, 16384]
    write_audio(path, np.array([2.0, -2.0, 0.5]), RATE, format="wavf")
    assert soundfile.read(path)[0].tolist() == [2.0, -2.0, 0.5]


def test_invalid_audio_is_rejected_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "out.wav"
    assert (
        refused(path, tone(), format="aac")
        == "unknown format 'aac'; choose one of wav, wav24, wavf, ulaw, alaw, flac, ogg, opus, mp3"
    )
    assert refused(path, tone(), 44_100, "ogg") == "ogg can't hold 44.1 kHz, only 8, 12, 16, 24, 48 kHz"
    assert refused(path, tone(), 96_000, "mp3").startswith("mp3 can't hold 96 kHz, only 8, ")
    assert refused(path, tone()[:0]) == "there is no mono sound to write (shape (0,))"
    assert refused(path, np.zeros((2, 100), np.float32)) == "there is no mono sound to write (shape (2, 100))"
    assert refused(path, np.array([0.0, np.nan])) == "some samples are not finite (NaN or infinity)"
    # Thirteen hours of audio, with only one sample in memory.
    hours = np.broadcast_to(np.float32(0), (13 * 3600 * RATE,))
    assert refused(path, hours[: 2**31]) == "12.4 hours are more than WAV can hold; use flac"
    assert not list(tmp_path.iterdir())


def test_the_sampling_rates_of_a_format() -> None:
    assert rates_of("ogg") == (8_000, 12_000, 16_000, 24_000, 48_000)
    assert 44_100 in rates_of("mp3")
    assert rates_of("flac") == ()
    assert [only_rate(format) for format in ("ulaw", "alaw", "opus", "wav")] == [8_000, 8_000, None, None]


def test_blocks_make_the_same_file_as_the_whole(tmp_path: Path) -> None:
    samples = tone(1.0)
    for name in ("wav", "flac"):
        write_audio(tmp_path / "whole", samples, RATE, format=name)
        write_blocks(tmp_path / "blocks", iter(np.array_split(samples, 7)), RATE, format=name)
        assert (tmp_path / "whole").read_bytes() == (tmp_path / "blocks").read_bytes()


@pytest.mark.parametrize(
    ("last", "message"), [([np.nan], "some samples are not finite"), (None, "there is no mono sound to write")]
)
def test_a_bad_block_leaves_the_earlier_file(tmp_path: Path, last: list[float] | None, message: str) -> None:
    path = tmp_path / "out.wav"
    write_audio(path, tone(0.1), RATE)
    before = path.read_bytes()
    blocks = [] if last is None else [tone(0.5), np.array(last, np.float32)]
    with pytest.raises(OutputError, match=message):
        write_blocks(path, blocks, RATE)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_bad_places(tmp_path: Path) -> None:
    nowhere = tmp_path / "none" / "out.wav"
    for path, early, late in (
        (nowhere, f"there is no folder {nowhere.parent}", "can't be written (No such file or directory)"),
        (tmp_path, "this is a folder; name a file in it", "can't be written (Is a directory)"),
    ):
        with pytest.raises(OutputError) as caught:
            check_output(path, RATE)
        assert str(caught.value) == f"{path}: {early}"
        assert refused(path, tone()) == late
    with pytest.raises(OutputError, match="can't be written"):
        write_audio(tmp_path / "nul\0.wav", tone(), RATE)
    assert not list(tmp_path.iterdir())


def test_missing_permission_is_reported_early(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(OutputError, match="no permission to write in"):
        check_output(tmp_path / "out.wav", RATE)


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("limit", [0, 2_000])
def test_a_full_disk_leaves_the_earlier_file(tmp_path: Path, format: str, limit: int) -> None:
    path = tmp_path / "out.wav"
    path.write_bytes(b"before")
    with file_size_limit(limit):
        assert refused(path, tone(4.0), only_rate(format) or RATE, format=format) == "can't be written (File too large)"
        with pytest.raises(OutputError, match="File too large"):
            write_atomic(path, b"x" * 10_000)
    assert path.read_bytes() == b"before"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("broken", ["fsync", "replace"])
def test_a_failing_step_leaves_the_earlier_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: str) -> None:
    def fail(*_: object) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    path = tmp_path / "out.wav"
    path.write_bytes(b"before")
    monkeypatch.setattr(os, broken, fail)
    assert refused(path, tone()) == "can't be written (Input/output error)"
    assert path.read_bytes() == b"before"
    assert list(tmp_path.iterdir()) == [path]


def test_an_interrupt_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_audio(tmp_path / "out.wav", tone(), RATE)
    assert not list(tmp_path.iterdir())


def test_the_order_that_survives_power_loss(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file is synced before it is renamed, and its folder before the call returns."""
    done: list[str] = []
    fsync, replace = os.fsync, os.replace

    def seen_fsync(descriptor: int) -> None:
        done.append("folder" if os.path.isdir(f"/proc/self/fd/{descriptor}") else "file")
        fsync(descriptor)

    def seen_replace(source: Path, target: Path) -> None:
        done.append("replace")
        assert Path(source).parent == Path(target).parent and Path(source).match(TEMPORARY)
        replace(source, target)

    monkeypatch.setattr(os, "fsync", seen_fsync)
    monkeypatch.setattr(os, "replace", seen_replace)
    write_atomic(tmp_path / "out", b"data")
    assert done == ["file", "replace", "folder"]
    assert (tmp_path / "out").read_bytes() == b"data"


def test_a_kill_at_any_moment_leaves_a_complete_file_or_none(tmp_path: Path) -> None:
    program = (
        "import sys, numpy as np; from pathlib import Path; from voxcli.audio.write import write_audio\n"
        "clip = (0.5 * np.sin(np.arange(480_000) / 20)).astype('f4'); print('ready', flush=True)\n"
        "for n in range(100_000): write_audio(Path(sys.argv[1]) / f'{n % 7}.wav', clip, 48_000)\n"
    )
    for delay in (0.01, 0.03, 0.07):
        with children.start([sys.executable, "-c", program, tmp_path], stdout=subprocess.PIPE) as child:
            assert child.stdout is not None and child.stdout.readline() == "ready\n"
            time.sleep(delay)
            child.kill()
        for path in tmp_path.glob("*.wav"):
            assert soundfile.info(path).frames == 480_000
        assert all(path.match(TEMPORARY) or path.suffix == ".wav" for path in tmp_path.iterdir())


def test_the_file_gets_default_permissions(tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.touch()
    write_atomic(tmp_path / "ours", b"data")
    assert (tmp_path / "ours").stat().st_mode == plain.stat().st_mode


@pytest.mark.parametrize("format", FORMATS)
def test_the_bytes_of_a_file_can_be_had_without_one(format: str, tmp_path: Path) -> None:
    sound = np.random.default_rng(1).uniform(-0.5, 0.5, 70_000).astype(np.float32)
    rate = only_rate(format) or 24_000
    write_audio(tmp_path / "a", sound, rate, format=format)
    assert encode_audio(sound, rate, format=format) == (tmp_path / "a").read_bytes()


def test_bytes_of_no_sound_are_refused() -> None:
    with pytest.raises(OutputError, match=r"^audio: there is no mono sound to write$"):
        encode_audio(np.zeros(0, np.float32), 24_000)
    with pytest.raises(OutputError, match=r"^audio: some samples are not finite"):
        encode_audio(np.full(10, np.nan, np.float32), 24_000)
