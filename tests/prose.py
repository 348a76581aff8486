"""Generate a chapter of any length in the style of an old novel: paragraphs, dialogue, numbers, abbreviations."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator

PARTS = {
    "who": "the keeper|old Mr. Harrow|Mrs. Lindley|the captain|her brother|the doctor|a boy from the village|"
    "Dr. Vane|the miller's daughter|nobody|the schoolmaster|Capt. Rowe|the two sisters together|everyone at the inn",
    "did": "looked out at the {thing}|walked down to the {place}|had forgotten the {thing}|"
    "laid the {thing} on the table|waited by the {place}|counted {number} steps|"
    "said nothing of the {thing}|remembered the {adj} {thing}|"
    "came back from the {place} with a {adj} {thing}|would not hear of the {place}|"
    "asked after the {thing} again",
    "when": "on the third of March|before supper|at half past nine|in the winter of 1897|towards evening|"
    "that same night|when the rain had stopped|after {number} years|without a word|at No. 14|"
    "in the middle of the morning",
    "thing": "lamp|letter|boat|ledger|kettle|map|clock|key|photograph|ladder|coat|bell|wooden box|telescope|"
    "loaf of bread",
    "place": "harbour|mill|lighthouse|church|station|river|garden gate|market|bridge|orchard|post office|shore",
    "adj": "broken|small|heavy|quiet|yellow|forgotten|well-worn|strange|cold|half-finished|borrowed|very old",
    "number": "two|seven|nineteen|forty-three|a hundred and twelve|three thousand|12|1,500",
    "because": "because the {place} was {adj}|although the {thing} was still {adj}|for it was late|"
    "and the {thing} was gone|as though the {thing} had never been {adj}|"
    "while the fog came in over the {place}|so that {who} {did}",
    "aside": " \u2014 as people do at the {place} \u2014| (it was the {adj} one)|, who was {adj} by then,|"
    ", of all people,|||||",
    "speech": "I saw the {thing} at the {place}|you have not been to the {place}, have you|there were {number} of them|"
    "nobody goes there now|it is only the {thing}|we shall need the {adj} {thing}|what did {who} say",
    "said": "said {who}|asked {who}|answered {who}, and {did}|{who} said at last",
}
BEGINNING = re.compile("^\u201c?[a-z]|[.!?\u2026]\u201d? \u201c?[a-z]")
SENTENCES = (
    "{who}{aside} {did}.",
    "{when}, {who} {did}.",
    "{who} {did}, {because}.",
    "{when}, {who} {did}; {who}{aside} {did}, {because}.",
    "There was a {adj} {thing}, a {thing}, and a {adj} {thing} at the {place}.",
    "Was it {adj}?",
    "{who} {did} {when}, and {when} {who} {did}, {because}, {because}.",
)
DIALOGUE = (
    "\u201c{speech},\u201d {said}.",
    "\u201c{speech}? No\u2026 {speech}!\u201d",
    "\u201c{speech},\u201d {said}. \u201c{speech}.\u201d",
)


def chapter(words: int, seed: int) -> list[str]:
    """Return paragraphs with at least `words` words in total; the first is a heading."""
    rng = random.Random(seed)
    paragraphs = ["Chapter One. The Keeper of the Light"]
    count = len(paragraphs[0].split())
    while count < words:
        kinds = DIALOGUE if rng.random() < 0.3 else SENTENCES
        paragraphs.append(" ".join(_sentences(rng, kinds, rng.randint(1, 2 if kinds is DIALOGUE else 8))))
        count += len(paragraphs[-1].split())
    return paragraphs


def _sentences(rng: random.Random, kinds: tuple[str, ...], count: int) -> Iterator[str]:
    for _ in range(count):
        text = rng.choice(kinds)
        while "{" in text:
            before, _, rest = text.partition("{")
            name, _, after = rest.partition("}")
            text = before + rng.choice(PARTS[name].split("|")) + after
        yield BEGINNING.sub(lambda found: found[0].upper(), text)
