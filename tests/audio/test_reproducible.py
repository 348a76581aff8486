import io
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
import soundfile

from voxcli.audio.reproducible import make_reproducible, ogg_checksum

RATE = 48_000
SOUND = (0.5 * np.sin(np.arange(3 * RATE) / 20)).astype(np.float32)


def pages(data: bytes) -> list[bytes]:
    found = []
    while data:
        size = 27 + data[26] + sum(data[27 : 27 + data[26]])
        found.append(data[:size])
        data = data[size:]
    return found


def without_checksum(page: bytes) -> bytes:
    return page[:22] + bytes(4) + page[26:]


def ogg(samples: np.ndarray = SOUND) -> bytes:
    file = io.BytesIO()
    soundfile.write(file, samples, RATE, format="OGG", subtype="OPUS")
    return file.getvalue()


def settled(data: bytes, container: str = "OGG") -> bytes:
    file = io.BytesIO(data)
    make_reproducible(file, container)
    return file.getvalue()


def bitwise(page: bytes) -> int:
    """Compute the checksum bit by bit, as RFC 3533 describes it."""
    register = 0
    for byte in page:
        register ^= byte << 24
        for _ in range(8):
            register = (register << 1 ^ (0x04C11DB7 if register >> 31 else 0)) & 0xFFFFFFFF
    return register


def test_the_checksum_equals_that_of_the_rfc_and_libogg() -> None:
    assert ogg_checksum(b"123456789") == bitwise(b"123456789") == 0x89A1897F  # CRC-32/MPEG-2 from 0
    for page in pages(ogg()):
        assert ogg_checksum(without_checksum(page)) == struct.unpack("<I", page[22:26])[0]


def test_the_serial_number_of_an_ogg_file_does_not_depend_on_libsndfile() -> None:
    data = ogg()
    other = b"".join(page[:14] + b"1234" + page[18:22] + b"????" + page[26:] for page in pages(data))
    assert other != data
    made = settled(data)
    assert settled(other) == made == settled(made)
    for before, page in zip(pages(data), pages(made), strict=True):
        assert (page[:14], page[18:22], page[26:]) == (before[:14], before[18:22], before[26:])
        assert page[14:18] == made[14:18]
        assert ogg_checksum(without_checksum(page)) == struct.unpack("<I", page[22:26])[0]
    assert np.array_equal(*(soundfile.read(io.BytesIO(each), dtype="float32")[0] for each in (data, made)))


def test_files_of_different_content_have_different_serial_numbers_and_may_be_chained() -> None:
    one, two = settled(ogg()), settled(ogg(SOUND[: 2 * RATE]))
    assert one[14:18] != two[14:18]
    assert len(pages(one + two)) == len(pages(one)) + len(pages(two))


@pytest.mark.parametrize("damage", [b"OggX", b"Ogg", b"OggS" + bytes(22) + b"\xff"])
def test_invalid_ogg_pages_are_rejected(damage: bytes) -> None:
    with pytest.raises(AssertionError, match=r"Ogg page at byte \d+"):
        settled(ogg() + damage)


def test_only_the_time_is_removed_from_a_float_wav(tmp_path: Path) -> None:
    soundfile.write(tmp_path / "a.wav", SOUND, RATE, subtype="FLOAT")
    data = (tmp_path / "a.wav").read_bytes()
    at = data.index(b"PEAK") + 12
    assert struct.unpack("<I", data[at : at + 4])[0] > 1_600_000_000  # seconds since 1970: the time of writing
    assert settled(data, "WAV") == data[:at] + bytes(4) + data[at + 4 :]


def test_audio_data_that_looks_like_a_chunk_is_unchanged() -> None:
    file = io.BytesIO()
    soundfile.write(file, np.frombuffer(b"PEAK\x10\0\0\0\1\0\0\0time" * 50, "<i2"), RATE, format="WAV")
    assert settled(file.getvalue(), "WAV") == file.getvalue()
    odd = b"RIFF\0\0\0\0WAVEodd \1\0\0\0x\0PEAK\x10\0\0\0\1\0\0\0time\0\0\0\0\0\0\0\0data\0\0\0\0"
    assert settled(odd, "WAV") == odd.replace(b"time", bytes(4))
    with pytest.raises(AssertionError, match="no WAV header"):
        settled(b"RIFX\0\0\0\0WAVE", "WAV")


def test_the_number_depends_on_all_pages() -> None:
    data = ogg()
    plain = b"".join(without_checksum(page[:14] + bytes(4) + page[18:]) for page in pages(data))
    assert settled(data)[14:18] == struct.pack("<I", zlib.crc32(plain))
