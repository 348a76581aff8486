"""Inputs to begin with: one of each kind, as small as the readers take it."""

from __future__ import annotations

import io
import struct

import numpy as np
import soundfile

from tests.inputs import sheets

SOUNDS = (
    ("WAV", "PCM_16", 8_000, 1),
    ("WAV", "PCM_24", 8_000, 2),
    ("WAV", "FLOAT", 8_000, 1),
    ("WAV", "ULAW", 8_000, 1),
    ("WAV", "ALAW", 8_000, 1),
    ("WAV", "IMA_ADPCM", 8_000, 1),
    ("RF64", "PCM_16", 8_000, 1),
    ("W64", "PCM_16", 8_000, 1),
    ("AIFF", "PCM_16", 8_000, 1),
    ("AU", "PCM_16", 8_000, 1),
    ("CAF", "PCM_16", 8_000, 1),
    ("FLAC", "PCM_16", 8_000, 1),
    ("OGG", "VORBIS", 8_000, 1),
    ("OGG", "OPUS", 8_000, 1),
    ("MP3", "MPEG_LAYER_III", 16_000, 1),
)

# Name and options (see targets.py), then the file.
MANIFESTS = (
    b'\0\0{"id": "a", "text": "Hello.", "out": "x/y.flac", "seed": 7, "cfg": 2.0, "steps": 10}\n# a\n\n{"text": "b"}',
    b'\0\0{"text": "Hello.", "out": "../a.wav"}\n{"text": "Hello.", "out": "C:\\a.wav"}\n{"text": "b", "out": "\0"}',
    b'\0\0{"text": "(warm)Hello.", "control": "slow", "ref": "voice", "prompt_audio": "voice", "prompt_text": "a"}',
    b'\0\1{"text": "Hello.", "mood": "loud"}\n{"Text": "Hello.", "Mood": {"a": [NaN]}}',
    b'\1\0[\n {"id": "a", "text": "Hello."},\n {"id": 2, "text": "Hi.", "format": "mp3", "sample_rate": 8000}\n]',
    b"\2\0id,text,out\n1,Hello.,a.wav\n2,\"two, and\nmore\",b.wav\n",
    b"\2\0id;text;seed\n1;Hallo.;5\n",
    b'\2\0sep=;\ntext;cfg\n"a;b";2,5\n',
    b"\2\2Nr,Line,Character\n1,Hello.,none\n",
    b"\3\0id\ttext\n1\tHello.\n",
    b'\3\0id\ttext\na\t"I came\nb\thome."\nc\t"two\nlines"\n',
    b"\4\0First line.\nSecond line.\r\n\xef\xbb\xbfThird.",
    b"\5\0wavs/a.wav|0|Hello there.\nwavs/b.wav|1|Good night.\n",
    b"\5\0\xff\xfei\0d\0\t\0t\0e\0x\0t\0\n\0a\0\t\0b\0",
    b"\5\0i\0d\0\t\0t\0e\0x\0t\0\n\0a\0\t\0b\0",
    b"\5\0Caf\xe9 \x96 closed.",
    b"\5\6Hello, +AOk-.",
    b'\5\0{"text": "Hello.", "voice": "none", "preset": "fast", "level": -20, "pause_after": 1}',
    b"\6\0---\na: b\n---\n# One\n\n- [two](x.html)&amp;\n\n| a | b |\n|---|---|\n| c | d |\n",
    b"\6\0One[^1]\n\n```\nx\n```\n<p>e</p>\n\n[^1]: f\n",
    b"\7\0001\n00:00:01,000 --> 00:00:03,000\n<i>Hello</i> {\\an8}there.\n\n2\n00:00:04,000 --> 00:00:06,500\nBye.",
    b"\10\0WEBVTT\n\nNOTE x\n\na\n00:01.000 --> 00:03.000\n<v Anna>Hello &amp; bye.\n",
    b"\11\0" + sheets.xlsx({"A": [["text", "seed"], ["Hello.", 7]]}),
    b"\12\0" + sheets.ods({"A": [["text", "seed"], ["Hello.", 7]]}),
    b"\13\0<html><p>Hello.</p></html>",
)  # fmt: skip

_XLSX = sheets.xlsx_parts({"A": [["text", "seed", "out"], ["Hello.", 7, True]]})
# Kind; the sheet, then the shared strings and the links of the workbook.
WORKBOOKS = (
    b"\0" + str(sheets.ods_parts({"A": [["text", "seed"], ["Hello.", 7]]})["content.xml"]).encode(),
    b"\0" + str(sheets.ods_parts({"A": '<table:table-row table:number-rows-repeated="2"><table:table-cell '
    'table:number-columns-repeated="3"/><table:table-cell office:value-type="string" table:formula="of:=A1"><text:p>a'
    '<text:s text:c="2"/>b</text:p></table:table-cell></table:table-row>'})["content.xml"]).encode(),
    b"\1" + str(_XLSX["xl/worksheets/sheet1.xml"]).encode(),
    b'\1<worksheet><dimension ref="A1:C9"/><sheetData><row r="2"><c r="B2" t="s"><v>0</v></c><c t="s"><v>1</v></c>'
    b'<c t="str"><f>A1</f><v>a&amp;b</v></c></row><row><c t="inlineStr"><is><r><t>a</t></r><r><t xml:space="preserve"> '
    b"b</t></r></is></c></row></sheetData></worksheet>\0"
    b'<sst count="3" uniqueCount="2"><si><t>text</t></si><si><r><t>H</t></r><rPh sb="0"><t>p</t></rPh></si></sst>',
    b"\1" + str(_XLSX["xl/worksheets/sheet1.xml"]).encode() + b"\0<sst/>\0"
    + str(_XLSX["xl/_rels/workbook.xml.rels"]).encode(),
)  # fmt: skip

TEXTS = tuple(
    bytes([bound]) + words.encode()
    for bound, words in (
        (0, "The wind came over the hill. Dr. Smith paid $3.50 at 10:30 a.m., e.g. by 2.5 per cent; he left."),
        (220, "# A title\n\n- one\n- **two**\n\n[a link](https://example.com/a?b=c) and `code`, _this_ <b>too</b>."),
        (5, "春天来了，花开了。「川は古い。」안녕하세요. Привет, мир! مرحبا بالعالم؟ नमस्ते।"),
        (9, "(a warm, slow voice)Hello “there” — it’s… fine \u200b\u00ad\ufeff👍🏽 e\u0301 {P IH N}"),
    )
)


# Bound, how often, then what comes before, what is repeated and what comes after; see tests/text/hostile.py.
REPEATED = (
    b"\x00\xffHi\x00\xe2\x80\xa6\x00x",
    b"\x00\xffa\x00.\x00b c",
    b"\x00\xffa\n\x00 \x00b",
    b"\x00\xff```\x00 \x00!",
    b"\x00\xff\x00-\x00x",
    b"\x00\xff(warm)$\x001\x00k",
    b"\x00\xff../\x00 \x00x",
    b"\xff\x80\x00no. <b>[1] \x00</b>",
)


def sound(container: str, subtype: str, rate: int, channels: int, seconds: float = 1.1) -> bytes:
    """A tone as a file."""
    time = np.arange(round(seconds * rate)) / rate
    tone = 0.3 * np.sin(2 * np.pi * 220 * time).astype(np.float32)
    file = io.BytesIO()
    soundfile.write(file, np.stack([tone] * channels, 1), rate, format=container, subtype=subtype)
    return file.getvalue()


def wav_header(size: int, *, rate: int = 16_000, channels: int = 1, bits: int = 16) -> bytes:
    """Of a WAV file that promises `size` bytes of sound."""
    width = channels * bits // 8
    form = struct.pack("<4sIHHIIHH", b"fmt ", 16, 1, channels, rate, rate * width & 0xFFFFFFFF, width & 0xFFFF, bits)
    riff = struct.pack("<4sI4s", b"RIFF", min(size + 36, 2**32 - 1), b"WAVE")
    return riff + form + struct.pack("<4sI", b"data", size)


def seeds() -> dict[str, list[bytes]]:
    """By target."""
    promises = [wav_header(2**32 - 1), wav_header(2**31, channels=64), wav_header(20_000, rate=10_000_000)]
    return {
        "manifest": list(MANIFESTS),
        "prose": list(MANIFESTS),
        "workbook": list(WORKBOOKS),
        "text": list(TEXTS),
        "repeated": list(REPEATED),
        "audio": [*(sound(*kind) for kind in SOUNDS), *(head + bytes(20_000) for head in promises)],
    }
