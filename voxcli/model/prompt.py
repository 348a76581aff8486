"""The four prompt layouts: which positions hold text tokens and which hold audio patches (A).

    zero-shot      text 101
    reference      103 A.. 104 text 101
    continuation   prompt_text+text 101 A..
    both           103 A.. 104 prompt_text+text 101 A..

Source: `VoxCPM2Model._generate_with_prompt_cache` of the reference package.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from voxcli.errors import RequestError
from voxcli.model.tokenizer import Tokenizer

AUDIO_START, AUDIO_END, REF_AUDIO_START, REF_AUDIO_END = 101, 102, 103, 104


@dataclass(frozen=True, eq=False)
class Prompt:
    """A prompt of T positions, A of which are audio.

    token_ids:     int64[T]; 0 at audio positions.
    is_audio:      bool[T].
    patches:       float32[A, patch_size, feat_dim], in order of their positions.
    target_tokens: number of tokens of the text to speak, without `prompt_text`; length limits are computed from it.
    """

    token_ids: torch.Tensor
    is_audio: torch.Tensor
    patches: torch.Tensor
    target_tokens: int

    def __len__(self) -> int:
        return len(self.token_ids)

    @property
    def continues(self) -> bool:
        """Whether the output continues prompt audio: the last position is a patch."""
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
    """Build the prompt of one request.

    text:         the text to speak.
    patch_shape:  (patch_size, feat_dim) of the model.
    reference:    float32[R, *patch_shape], latents of the voice to speak with; the audio must be padded on the right.
    prompt_text:  the text spoken in `prompt_audio`; each of the two needs the other.
    prompt_audio: float32[C, *patch_shape], latents of speech to continue; the audio must be padded on the left.

    Raises RequestError if the text has no tokens, if the latents do not fit the model, or if only one of `prompt_text`
    and `prompt_audio` is given.
    """
    for name, latents in (("reference", reference), ("prompt_audio", prompt_audio)):
        if latents is not None and (latents.ndim != 3 or tuple(latents.shape[1:]) != patch_shape or not len(latents)):
            expected = f"(patches, {patch_shape[0]}, {patch_shape[1]})"
            raise RequestError(f"{name} has shape {tuple(latents.shape)}, but the model needs {expected}")
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
