"""The four layouts, position by position."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from voxcli.errors import RequestError
from voxcli.model.prompt import build_prompt
from voxcli.model.tokenizer import Tokenizer

SHAPE = (2, 8)


@pytest.fixture(scope="module")
def tokenizer(tiny_checkpoint: Path) -> Tokenizer:
    return Tokenizer.from_folder(tiny_checkpoint, 400)


def voice(value: float, patches: int) -> torch.Tensor:
    return torch.full((patches, *SHAPE), value)


def test_zero_shot(tokenizer: Tokenizer) -> None:
    prompt = build_prompt(tokenizer, "hello", patch_shape=SHAPE)
    assert prompt.token_ids.tolist() == [*tokenizer.encode("hello"), 101]
    assert not prompt.is_audio.any() and not prompt.continues
    assert prompt.patches.shape == (0, *SHAPE)
    assert prompt.target_tokens == len(tokenizer.encode("hello"))


def test_reference(tokenizer: Tokenizer) -> None:
    prompt = build_prompt(tokenizer, "hello", patch_shape=SHAPE, reference=voice(1, 3))
    assert prompt.token_ids.tolist() == [103, 0, 0, 0, 104, *tokenizer.encode("hello"), 101]
    assert prompt.is_audio.tolist()[:5] == [False, True, True, True, False]
    assert prompt.is_audio.sum() == 3 and not prompt.continues


def test_continuation(tokenizer: Tokenizer) -> None:
    prompt = build_prompt(tokenizer, "world", patch_shape=SHAPE, prompt_text="hello ", prompt_audio=voice(2, 2))
    text = tokenizer.encode("hello world")
    assert prompt.token_ids.tolist() == [*text, 101, 0, 0]
    assert prompt.is_audio.tolist() == [False] * (len(text) + 1) + [True, True]
    assert prompt.continues and prompt.target_tokens == len(tokenizer.encode("world"))


def test_reference_and_continuation(tokenizer: Tokenizer) -> None:
    prompt = build_prompt(
        tokenizer, "world", patch_shape=SHAPE, reference=voice(1, 1), prompt_text="hello ", prompt_audio=voice(2, 2)
    )
    assert prompt.token_ids.tolist() == [103, 0, 104, *tokenizer.encode("hello world"), 101, 0, 0]
    assert prompt.patches[:, 0, 0].tolist() == [1, 2, 2], "patches in order of their positions"


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"reference": torch.zeros(3, 4, 8)}, r"reference has shape \(3, 4, 8\)"),
        ({"reference": torch.zeros(0, 2, 8)}, r"reference has shape \(0, 2, 8\)"),
        ({"prompt_audio": torch.zeros(3, 2, 8)}, "needs the text that is spoken in it"),
        ({"prompt_text": "hello"}, "needs the audio it is spoken in"),
    ],
)
def test_parts_that_do_not_fit_are_refused(tokenizer: Tokenizer, parts: dict[str, object], message: str) -> None:
    with pytest.raises(RequestError, match=message):
        build_prompt(tokenizer, "hello", patch_shape=SHAPE, **parts)  # type: ignore[arg-type]


def test_an_empty_text_is_refused(tokenizer: Tokenizer) -> None:
    with pytest.raises(RequestError, match="the text is empty"):
        build_prompt(tokenizer, "", patch_shape=SHAPE)
