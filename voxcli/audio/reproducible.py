"""Make files of libsndfile reproducible: equal samples give equal bytes.

A float WAV contains the time of writing in its PEAK chunk. An Ogg stream has a random serial number, which the checksum
of each page covers. Sources: the PEAK chunk of libsndfile's `wav.c`; RFC 3533, section 6.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from typing import BinaryIO

__all__ = ["make_reproducible", "ogg_checksum"]

_PAGE_HEADER = 27  # bytes before the sizes of its segments
_SERIAL, _CHECKSUM = slice(14, 18), slice(22, 26)
_REVERSED = bytes(int(f"{byte:08b}"[::-1], 2) for byte in range(256))


def make_reproducible(file: BinaryIO, container: str) -> None:
    """Rewrite a finished file in place. container: libsndfile's name.  file: open for reading and writing.

    Holds one page in memory. Raises OSError, and AssertionError for a file of another container.
    """
    if container == "OGG":
        _renumber(file)
    elif container == "WAV":
        _take_out_the_time(file)


def _renumber(file: BinaryIO) -> None:
    """Derive the serial number of an Ogg stream from its content.

    It must not be a constant: the numbers must differ if files of different content are chained.
    """
    serial = 0
    for _, page in _pages(file):
        serial = zlib.crc32(page, serial)
    for position, page in _pages(file):
        page[_SERIAL] = struct.pack("<I", serial)
        page[_CHECKSUM] = struct.pack("<I", ogg_checksum(page))
        file.seek(position)
        file.write(page[:_PAGE_HEADER])


def _pages(file: BinaryIO) -> Iterator[tuple[int, bytearray]]:
    """Yield pages and their positions, with serial number and checksum set to zero."""
    position = 0
    while True:
        file.seek(position)
        page = bytearray(file.read(_PAGE_HEADER))
        if not page:
            return
        assert page.startswith(b"OggS") and len(page) == _PAGE_HEADER, f"there is no Ogg page at byte {position}"
        segments = file.read(page[26])
        body = file.read(sum(segments))
        assert len(segments) == page[26] and len(body) == sum(segments), f"the Ogg page at byte {position} is cut off"
        page[_SERIAL] = page[_CHECKSUM] = bytes(4)
        page += segments + body
        yield position, page
        position += len(page)


def ogg_checksum(page: bytes | bytearray) -> int:
    """Return the checksum of a page whose checksum field is zero: CRC-32, polynomial 0x04c11db7, not reflected.

    zlib computes the reflected CRC, which is the same for bits in reversed order.
    """
    reflected = zlib.crc32(page.translate(_REVERSED), 0xFFFFFFFF) ^ 0xFFFFFFFF
    return int(f"{reflected:032b}"[::-1], 2)


def _take_out_the_time(file: BinaryIO) -> None:
    """Set the time in the PEAK chunk of a WAV file to zero, if it has one. The chunk is before the audio data."""
    file.seek(0)
    riff = file.read(12)
    assert riff[:4] == b"RIFF" and riff[8:] == b"WAVE", "there is no WAV header"
    position = len(riff)
    while len(head := file.read(8)) == 8 and (name := head[:4]) != b"data":
        if name == b"PEAK":
            file.seek(position + 12)  # after the chunk's name, size and version
            file.write(bytes(4))
            return
        size = int.from_bytes(head[4:], "little")
        position += 8 + size + size % 2
        file.seek(position)
