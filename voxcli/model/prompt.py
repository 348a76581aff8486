"""The four prompt layouts: which positions hold text tokens and which hold audio patches.

    zero-shot      text 101
    reference      103 A.. 104 text 101
    continuation   prompt_text+text 101 A..
    both           103 A.. 104 prompt_text+text 101 A..

(Facts of the VoxCPM2 checkpoint; `VoxCPM2Model._generate_with_prompt_cache` of the reference package lays them out so.)
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from voxcli.errors import RequestError
from voxcli.model.tokenizer import Tokenizer

AUDIO_START, AUDIO_END, REF_AUDIO_START, REF_AUDIO_END = 101, 102, 103, 104


@dataclass(frozen=True, eq=False)
class Prompt:
    """A laid out prompt of T positions, A of them audio.

    token_ids:     int64[T], 0 where the position holds audio.
    is_audio:      bool[T].
    patches:       float32[A, patch_size, feat_dim] in order of their positions.
    target_tokens: tokens of the text to be spoken alone: the length rails count these.
    """

    token_ids: torch.Tensor
    is_audio: torch.Tensor
    patches: torch.Tensor
    target_tokens: int

    def __len__(self) -> int:
        return len(self.token_ids)

    @property
    def continues(self) -> bool:
        """Whether generation goes on from audio (the last position is a patch)."""
        return bool(self.is_audio[-1])


def build_prompt(
    tokenizer: Tokenizer,
    text: str,
    *,
    patch_shape: tuple[int, int],
    reference: torch.Tensor | None = None,
    prompt_text: str = "",
    prompt_audio: torch.Tensor | None = None,
) -> Prompt:
    """Lay out one utterance.

    patch_shape:  (patch_size, feat_dim) of the model.
    reference:    float32[R, *patch_shape], the voice to speak with, padded on the right when encoded.
    prompt_audio: float32[C, *patch_shape], speech to go on from, padded on the left; needs `prompt_text`.

    Raises RequestError when the text has no tokens or the latents do not fit the model.
    """
    for name, latents in (("reference", reference), ("prompt_audio", prompt_audio)):
        if latents is not None and (latents.ndim != 3 or tuple(latents.shape[1:]) != patch_shape or not len(latents)):
            want = f"(patches, {patch_shape[0]}, {patch_shape[1]})"
            raise RequestError(f"{name} has shape {tuple(latents.shape)}, the model wants {want}")
    if prompt_audio is not None and not prompt_text:
        raise RequestError("audio to continue from needs the text that is spoken in it")
    if prompt_text and prompt_audio is None:
        raise RequestError("a prompt text needs the audio it is spoken in")
    target = tokenizer.encode(text)
    if not target:
        raise RequestError("the text is empty")
    tokens: list[torch.Tensor] = []
    patches: list[torch.Tensor] = []

    def add_text(ids: list[int]) -> None:
        tokens.append(torch.tensor(ids, dtype=torch.int64))

    def add_audio(latents: torch.Tensor) -> None:
        tokens.append(torch.full((len(latents),), -1, dtype=torch.int64))
        patches.append(latents.to(device="cpu", dtype=torch.float32))

    if reference is not None:
        add_text([REF_AUDIO_START])
        add_audio(reference)
        add_text([REF_AUDIO_END])
    add_text([*(tokenizer.encode(prompt_text + text) if prompt_text else target), AUDIO_START])
    if prompt_audio is not None:
        add_audio(prompt_audio)
    ids = torch.cat(tokens)
    is_audio = ids < 0
    return Prompt(
        token_ids=ids.masked_fill(is_audio, 0),
        is_audio=is_audio,
        patches=torch.cat(patches) if patches else torch.zeros(0, *patch_shape),
        target_tokens=len(target),
    )
