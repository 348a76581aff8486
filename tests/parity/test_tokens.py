"""Token ids equal those of the reference's wrapper around LlamaTokenizerFast."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.reference import import_reference
from voxcli.model.tokenizer import Tokenizer

TEXTS = [
    "",
    "hello world",
    "Hello, World! 1,234.56",
    "你好世界",
    "你好，世界。我们是大学生！",
    "大学生大学大",
    "hello 你好 world 世界",
    "我们hello世界hello",
    "日本語とカタカナ 한국어",
    "emoji 🎉 and ünïcödé",
    "tab\there",
    "a  double  space and a trailing one ",
    "(a warm voice)hello",
]


@pytest.mark.parametrize("text", TEXTS)
def test_ids_equal_the_reference(random_checkpoint: Path, text: str) -> None:
    import_reference()
    from transformers import LlamaTokenizerFast
    from voxcpm.model.utils import mask_multichar_chinese_tokens

    reference = mask_multichar_chinese_tokens(LlamaTokenizerFast.from_pretrained(random_checkpoint))
    assert Tokenizer.from_folder(random_checkpoint).encode(text) == reference(text)


def test_han_pairs_are_split(random_checkpoint: Path) -> None:
    tokenizer = Tokenizer.from_folder(random_checkpoint)
    assert len(tokenizer.encode("hello")) == 1, "the tiny tokenizer merges words"
    assert len(tokenizer.encode("大学生")) == 1 + 3, "a word mark and three characters, though one token exists"
