"""Create a named voice from a recording."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from voxcli.audio.flac import flac_of
from voxcli.audio.read import check_voice, read_voice
from voxcli.engine.load import ModelOptions, load_engine
from voxcli.errors import InputError
from voxcli.files.write import prepare_folder
from voxcli.text.clean import clean, is_speakable
from voxcli.voices.store import VoiceInfo, check_new, write_voice

if TYPE_CHECKING:
    from voxcli.engine.engine import Engine


@dataclass(frozen=True)
class Added:
    path: Path
    info: VoiceInfo


def add_voice(
    name: str, recording: Path, text: str | None, options: ModelOptions, notify: Callable[[str], None], *, replace: bool
) -> Added:
    """Encode a recording and store it under a name. The name, file and text are checked before a model is loaded.

    text: the words of the recording; with them, speech can continue the recording.

    Raises InputError for an invalid name, recording or text, and other VoxErrors when encoding or writing fails.
    """
    path = check_new(name, replace)
    words = clean(text) if text is not None else ""
    if text is not None and not is_speakable(words):
        raise InputError("--text has no letter and no digit: give the words of the recording")
    check_voice(recording)
    prepare_folder(path.parent)
    loaded = load_engine(options, notify, requests=1)
    return encode_voice(loaded.engine, loaded.encoder(), recording, words, path)


def encode_voice(engine: Engine, encoder: str, recording: Path, words: str, path: Path) -> Added:
    """Encode a recording and write the voice file `path`.

    encoder: identity of the model's voice encoder.
    words:   the cleaned words of the recording; empty if they are unknown.

    Raises AudioError when the recording can't be used, OutputError when the file can't be written.
    """
    voice = read_voice(recording, engine.model.encoder_rate)
    latents = {"reference": engine.encode_voice(voice.samples, key=voice.sha256, padding="right").numpy()}
    if words:
        latents["prompt"] = engine.encode_voice(voice.samples, key=voice.sha256, padding="left").numpy()
    info = VoiceInfo(
        encoder=encoder,
        recording=recording.name,
        sha256=voice.sha256,
        seconds=round(voice.duration_s, 2),
        text=words,
        notes=voice.notes,
    )
    kept = read_voice(recording, None)
    write_voice(path, info, latents, flac_of(kept.samples, kept.rate))
    return Added(path, info)
