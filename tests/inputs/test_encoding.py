"""The encoding of a file is detected from its bytes; ambiguous ones are refused."""

from __future__ import annotations

import pytest

from voxcli.errors import InputError, ManifestError, Problem
from voxcli.inputs.encoding import Decoded, NotText, decode

WESTERN = {
    "short": "Café \u2013 closed.\n",
    "German": "Die Müller hörten \u201eGrüße aus Köln\u201c \u2026 und gingen für immer.",
    "French": "« Bonjour ! » dit-elle. L\u2019été a été très chaud, là-bas à Orléans\u00a0; œuvre créée.",
    "Spanish": "¿Qué tal, señor? ¡Mañana será otro día! Costará 5 \u20ac.",
    "Swedish": "När jag var åtta år flyttade vi till Malmö, och där är vi än.",
    "English": "It\u2019s 20°C \u2014 \u201cwarm\u201d, she said \u2026 © 2026 ½ m².",
}
OTHERS = {
    "cp1251": (
        "Привет, как дела?",
        "Да. Нет.",
    ),
    "koi8-r": ("Доброе утро, друзья.",),
    "cp1250": (
        "Jestem mały i już była noc.",
        "Příliš žluťoučký kůň úpěl ďábelské ódy.",
    ),
    "cp1253": ("Καλημέρα, τι κάνετε;",),
    "gb18030": ("你好\uff0c世界。今天天气很好。",),
    "shift_jis": ("おはようございます。",),
    "euc-kr": ("안녕하세요, 여러분.",),
    "mac-roman": ("Le café est fermé.",),
    "cp437": ("Die Tür hört man für immer.",),
}


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_marks_and_line_ends_of_other_systems(encoding: str) -> None:
    assert decode("é\r\n好\rz".encode(encoding), "a").text == "é\n好\nz"


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize(
    "text",
    [
        "Hello there.\nBye.\n",
        "id\ttext\na\tMüde, 你好 一二.\n",
        "Привет, как дела?\n",
    ],
)
def test_utf_16_needs_no_mark(encoding: str, text: str) -> None:
    assert decode(text.encode(encoding), "a") == Decoded(text, "UTF-16")
    assert decode(b"\xff\xfe" + text.encode("utf-16-le"), "a") == Decoded(text, "UTF-16")


@pytest.mark.parametrize("name", WESTERN)
def test_western_text_of_windows_is_read_and_said_so(name: str) -> None:
    assert decode(WESTERN[name].encode("cp1252"), "a") == Decoded(WESTERN[name], "Windows-1252")


@pytest.mark.parametrize(
    ("encoding", "text"), [(encoding, text) for encoding, texts in OTHERS.items() for text in texts]
)
def test_other_encodings_are_refused_and_read_where_they_are_named(encoding: str, text: str) -> None:
    data = f"One.\n{text}".encode(encoding)
    with pytest.raises(ManifestError, match="line 2: not UTF-8 text, and its encoding is unknown: name it with --enc"):
        decode(data, "a.txt")
    assert decode(data, "a.txt", encoding) == Decoded(f"One.\n{text}", encoding)


def test_damaged_utf_8_is_no_other_encoding() -> None:
    with pytest.raises(ManifestError, match="line 2: not UTF-8 text"):
        decode("café \u2026\ncafé".encode()[:-1], "a.txt")
    with pytest.raises(ManifestError, match="line 2: not UTF-16 text"):
        decode(b"\xff\xfe" + "a\nb".encode("utf-16-le")[:-1], "a.txt")


@pytest.mark.parametrize(
    "data", [bytes(range(256)), b"\x00\x01\x02\x03" * 100, b"abc" + bytes(100), b"\x80\x01\x02\x03\x04" * 9]
)
def test_binary_data_is_no_text(data: bytes) -> None:
    with pytest.raises(NotText):
        decode(data, "a.txt")


def test_a_stray_control_character_is_text() -> None:
    assert decode(b"Hello\x07 there.\x1a", "a.txt").text == "Hello\x07 there.\x1a"


@pytest.mark.parametrize("name", ["klingon", "rot13", "hex", "punycode", "unicode_escape", "a\0b", "x" * 300])
def test_an_encoding_that_is_none_is_refused(name: str) -> None:
    with pytest.raises(InputError, match=r"no encoding .* is known: try utf-8"):
        decode(b"Hello.", "a.txt", name)


@pytest.mark.parametrize("name", ["utf-8", "UTF8", "utf_8_sig", "cp1252", "utf-16-le"])
def test_a_named_encoding_goes_before_the_bytes(name: str) -> None:
    text = "\ufeffCafé" if "16" in name or "8" in name else "Café"
    assert decode(text.encode(name), "a.txt", name).text == "Café"
    with pytest.raises(ManifestError, match=f"not {name} text"):
        decode(b"\x81\x8d\xff", "a.txt", name)


@pytest.mark.parametrize("encoding", [None, "utf-8", "windows-1252"])
def test_a_text_with_a_nul_is_not_read_as_if_it_had_none(encoding: str | None) -> None:
    with pytest.raises(ManifestError) as caught:
        decode(b"One.\r\nHello\0there, it is late.\n" + b"A line.\n" * 9, "a.txt", encoding)
    assert caught.value.problems == [Problem(2, "a NUL character, which no text has: is the file damaged?")]
