"""Token ids equal those of the reference package's wrapper around LlamaTokenizerFast."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.checkpoints import write_tokenizer
from tests.fullsize import HAN_CHARS, VOCABULARY, full_config, merges, texts
from tests.reference import import_reference
from voxcli.model.config import read_config
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


def wrapped(folder: Path, *, rebuilt: bool) -> Callable[[str], list[int]]:
    """Return the reference package's wrapper.

    rebuilt: wrap LlamaTokenizerFast as the installed transformers creates it. Since version 5 transformers builds that
             class from the vocabulary, with other rules than tokenizer.json for leading spaces and for characters
             outside the vocabulary. Version 4, with which checkpoints were trained, used the file unchanged.
    """
    import_reference()
    import transformers
    from voxcpm.model.utils import mask_multichar_chinese_tokens

    if rebuilt:
        return mask_multichar_chinese_tokens(transformers.LlamaTokenizerFast.from_pretrained(folder))
    unchanged = transformers.PreTrainedTokenizerFast(tokenizer_file=str(folder / "tokenizer.json"), unk_token="<unk>")
    return mask_multichar_chinese_tokens(unchanged)


def ours(folder: Path) -> Tokenizer:
    return Tokenizer.from_folder(folder, read_config(folder).lm_config.vocab_size)


@pytest.mark.parametrize("text", TEXTS)
def test_ids_equal_the_reference(random_checkpoint: Path, text: str) -> None:
    assert ours(random_checkpoint).encode(text) == wrapped(random_checkpoint, rebuilt=True)(text)


@pytest.mark.parametrize(
    "text", [*TEXTS, " hello", "  two", "▁你好", "a</s> b", "20 °C.", "say <|audio_start|> x", " "]
)
@pytest.mark.parametrize("voice", ["tiny", "demo"])
def test_ids_equal_the_reference_with_the_unchanged_file(
    random_checkpoint: Path, demo_voice: Path, voice: str, text: str
) -> None:
    folder = demo_voice if voice == "demo" else random_checkpoint
    assert ours(folder).encode(text) == wrapped(folder, rebuilt=False)(text)


def test_han_pairs_are_split(random_checkpoint: Path) -> None:
    tokenizer = ours(random_checkpoint)
    assert len(tokenizer.encode("hello")) == 1, "the tiny tokenizer merges words"
    assert len(tokenizer.encode("大学生")) == 1 + 3, "a word mark and three characters, although a single token exists"


@pytest.fixture(scope="module")
def full_size(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the config and a tokenizer of the full model's size, but without weights."""
    folder = tmp_path_factory.mktemp("full-size")
    (folder / "config.json").write_text(json.dumps(full_config()))
    write_tokenizer(folder, VOCABULARY, HAN_CHARS, merges())
    return folder


def test_ids_of_a_full_vocabulary_equal_the_reference(full_size: Path) -> None:
    own, reference = ours(full_size), wrapped(full_size, rebuilt=False)
    different = [text for text in texts(420) if own.encode(text) != reference(text)]
    assert not different
