"""The output formats. Does not import numpy or libsndfile, so that `--help` and manifest checks can list them.

To add a format, add it to FORMATS. A sample encoding that libsndfile does not round correctly also needs an entry in
`voxcli.audio.write`.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

__all__ = [
    "DEFAULT_FORMAT",
    "EXTENSIONS",
    "FORMATS",
    "TAGS",
    "Format",
    "bitrate_formats",
    "compression",
    "has_bitrate",
    "only_rate",
    "rates_of",
    "tags_of",
]


# The strings of libsndfile but `software`, to which it adds its own name.
TAGS = ("title", "artist", "album", "tracknumber", "date", "genre", "comment", "copyright", "license")
_WAV_TAGS, _MP3_TAGS = TAGS[:-1], TAGS[:-2]  # of a LIST chunk, and of ID3


class Format(NamedTuple):
    """An output format. Those of WAV are the default of what many formats share.

    container: libsndfile's name of the format.
    subtype:   libsndfile's name of the sample encoding.
    extension: extension of its files, with the dot.
    note:      explanation for help texts.
    rates:     supported sample rates in Hz; empty for any.
    bitrates:  smallest and largest bitrate in kbit/s; None: it has none to choose.
    media:     media type (MIME) of its files.
    tags:      names of the tags that its files can have, as libsndfile writes them.
    """

    container: str
    subtype: str
    extension: str
    note: str = ""
    rates: tuple[int, ...] = ()
    bitrates: tuple[int, int] | None = None
    media: str = "audio/wav"
    tags: tuple[str, ...] = _WAV_TAGS


# Sample rates of telephones: ITU-T G.711. Of Opus: RFC 6716. Of MP3: ISO 11172-3, 13818-3 and the 2.5 extension.
_TELEPHONE_RATES = (8_000,)
_OPUS_RATES = (8_000, 12_000, 16_000, 24_000, 48_000)
_MP3_RATES = (8_000, 11_025, 12_000, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000)
_OPUS_BITRATES = (6, 256)
_MP3_BITRATES = (8, 320)

FORMATS: Mapping[str, Format] = MappingProxyType(
    {
        "wav": Format("WAV", "PCM_16", ".wav", "16 bit"),
        "wav24": Format("WAV", "PCM_24", ".wav"),
        "wavf": Format("WAV", "FLOAT", ".wav", "float"),
        "ulaw": Format("WAV", "ULAW", ".wav", "G.711 mu-law, 8 kHz", _TELEPHONE_RATES),
        "alaw": Format("WAV", "ALAW", ".wav", "G.711 A-law, 8 kHz", _TELEPHONE_RATES),
        "flac": Format("FLAC", "PCM_16", ".flac", media="audio/flac", tags=TAGS),
        "ogg": Format("OGG", "OPUS", ".ogg", "Opus", _OPUS_RATES, _OPUS_BITRATES, "audio/ogg", TAGS),
        "opus": Format("OGG", "OPUS", ".opus", "the same as ogg", _OPUS_RATES, _OPUS_BITRATES, "audio/ogg", TAGS),
        "mp3": Format("MP3", "MPEG_LAYER_III", ".mp3", "", _MP3_RATES, _MP3_BITRATES, "audio/mpeg", _MP3_TAGS),
    }
)
DEFAULT_FORMAT = "wav"
_MAX_LEVEL = 0.999  # at 1 libsndfile asks LAME for less than its least
EXTENSIONS = tuple(dict.fromkeys(kind.extension for kind in FORMATS.values()))


def rates_of(format: str) -> tuple[int, ...]:
    """Return the sample rates in Hz that a format of FORMATS supports; empty for any."""
    return FORMATS[format].rates


def tags_of(format: str) -> tuple[str, ...]:
    """Return the names of the tags that files of a format can have."""
    return FORMATS[format].tags


def has_bitrate(format: str) -> bool:
    """True for formats that compress to a bitrate."""
    return FORMATS[format].bitrates is not None


def bitrate_formats(joint: str = "or") -> str:
    """Name the formats with a bitrate: `ogg, opus or mp3`."""
    *names, last = filter(has_bitrate, FORMATS)
    return f"{', '.join(names)} {joint} {last}"


def only_rate(format: str) -> int | None:
    """Return the sample rate in Hz of a format that supports only one, else None."""
    rates = rates_of(format)
    return rates[0] if len(rates) == 1 else None


def compression(kind: Format, rate: int, bitrate: int | None) -> dict[str, Any]:
    """Return libsndfile's options for a constant bitrate in kbit/s.

    It takes a compression level from 0 to 1 and computes the bitrate from it, in ogg_opus.c and mpeg_l3_encode.c.
    """
    if bitrate is None or kind.bitrates is None:
        return {}
    mode: dict[str, Any] = {}
    low, high = kind.bitrates
    if kind.container == "MP3":
        low, high = (32, 320) if rate >= 32_000 else (8, 160) if rate >= 16_000 else (8, 64)
        mode["bitrate_mode"] = "CONSTANT"
    level = (high - min(max(bitrate, low), high)) / (high - low)
    return mode | {"compression_level": min(level, _MAX_LEVEL)}
