from __future__ import annotations

from itertools import pairwise

import pytest

from voxcli.text.boundaries import Strength, boundaries
from voxcli.text.clean import clean


def sentences(text: str) -> list[str]:
    text = clean(text)
    ends = [place for place, strength in boundaries(text).items() if strength == Strength.SENTENCE]
    return [part for a, b in pairwise([0, *ends, len(text)]) if (part := text[a:b].strip())]


@pytest.mark.parametrize(
    "text",
    [
        "Am 3. Mai kam er. | Er blieb.",
        "Das ist z. B. Dr. Müller aus Bonn. | Er kam spät.",
        "Er wohnt z.B. in Bonn, u. a. mit ihr. | Sie nicht.",
        "Der 1. Weltkrieg begann 1914. | Danach kam Ruhe.",
        "Prof. Dr. med. Hans Maier sprach. | Alle schwiegen.",
        "Um 10.30 Uhr kam er. | Dann ging er.",
        "Nr. 5 lebt in der Hauptstr. 7. | Gut so.",
        "\u201eHalt!\u201c rief er. | \u201eNein.\u201c | Sie lief.",
        "\u00bbHalt!\u00ab rief er. | \u00bbNein.\u00ab | Sie lief.",
        "\u00ab Bonjour ! \u00bb dit-il. | Elle rit.",
        "\u00ab Bonjour ! \u00bb | Elle rit.",
        "M. Dupont et Mme. Curie sont là. | Ils attendent.",
        "\u00bfQué hora es? | Son las tres. | \u00a1Vamos!",
        "Sr. García vive en EE. UU. desde ayer. | Bien.",
        "Родился в г. Москве. | Он жил там.",
        "А. С. Пушкин писал, т. е. жил. | Да.",
        "J. R. R. Tolkien wrote it. | It is long.",
        "Version 2.0.3 is out. | Get it at 3.45 p.m. | Then rest.",
        "See fig. 3 and No. 5 of vol. 2. | It helps.",
        "So am I. | You are not. | I don't. | He does.",
    ],
)
def test_sentences(text: str) -> None:
    """`|` marks the sentence ends."""
    expected = [clean(part) for part in text.split(" | ")]
    assert sentences(text.replace(" | ", " ")) == expected
