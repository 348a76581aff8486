"""From the body of a request to an utterance, in a thread beside the event loop. Opens no path that a request names."""

from __future__ import annotations

import base64
import binascii
import tempfile
from dataclasses import dataclass
from pathlib import Path

from voxcli.audio.encode import RAW
from voxcli.audio.formats import FORMATS
from voxcli.audio.read import check_voice
from voxcli.audio.source import open_sound
from voxcli.errors import AudioError
from voxcli.jobs.job import Job
from voxcli.jobs.plan import Utterance, prepare
from voxcli.jobs.settings import NAMES, SettingError, Settings
from voxcli.jobs.speaker import Speaker
from voxcli.server.errors import ApiError
from voxcli.server.schema import MAX_STEPS, BatchLine, SpeechRequest, SpokenFields
from voxcli.terminal import printable
from voxcli.text.clean import clean, is_speakable
from voxcli.text.lexicon import Lexicon
from voxcli.text.normalize import check_installed
from voxcli.voices.store import SUFFIX, VoiceInfo, check_voice_file, voice_names, voice_path

MAX_UPLOAD = 16 << 20  # bytes of a recording
MAX_UPLOAD_S = 600.0  # seconds of it; a minute is used


@dataclass(frozen=True)
class Planner:
    """Makes utterances. folder: for recordings of requests, which no request can name."""

    settings: Settings
    speaker: Speaker
    folder: Path

    def speech(self, asked: SpeechRequest, identity: str) -> Utterance:
        """Raises ApiError or InputError for a request that can't be spoken."""
        return self._utterance(asked, identity, asked.input, asked.instructions)

    def line(self, line: BatchLine, identity: str) -> Utterance:
        return self._utterance(line, identity, line.text, line.control)

    def _utterance(self, asked: SpokenFields, identity: str, text: str, control: str | None) -> Utterance:
        format = asked.file_format if isinstance(asked, SpeechRequest | BatchLine) else RAW
        _check_combination(asked, control)
        settings = self._settings(asked)
        if settings.normalize:
            check_installed()
        named, info = stored_voice(asked.voice_name) if asked.voice_name else (None, None)
        lexicon = Lexicon(asked.lexicon) if asked.lexicon else None
        ref = self._recording(asked.ref_audio) if asked.ref_audio is not None else None
        job = Job(
            identity,
            text,
            Path("audio"),
            format=format if format in FORMATS else "wav",
            ref=None if asked.ref_text else ref,
            prompt_audio=ref if asked.ref_text else None,
            prompt_text=asked.ref_text,
            control=control or None,
            voice=named,
            settings=settings,
            lexicon=lexicon,
        )
        try:
            return prepare(job, info, self.speaker)
        except BaseException:
            remove_recordings(job)
            raise

    def _settings(self, asked: SpokenFields) -> Settings:
        try:
            settings = self.settings.updated({name: getattr(asked, name) for name in NAMES - {"format"}})
        except SettingError as error:
            raise ApiError(400, str(error), param=error.name) from None
        if settings.steps > MAX_STEPS:
            raise ApiError(400, f"steps must be at most {MAX_STEPS} on a server, not {settings.steps}", param="steps")
        return settings

    def _recording(self, encoded: str) -> Path:
        """Store a recording of a request for as long as it is needed. Raises ApiError when it is no usable one."""
        content = decoded(encoded)
        with tempfile.NamedTemporaryFile(dir=self.folder, delete=False) as file:
            file.write(content)
        path = Path(file.name)
        try:
            check_recording(path, "ref_audio")
        except BaseException:
            path.unlink()
            raise
        return path


def remove_recordings(job: Job) -> None:
    """Remove the recordings that a request brought with it."""
    for path in (job.ref, job.prompt_audio):
        if path is not None:
            path.unlink(missing_ok=True)


def decoded(text: str) -> bytes:
    """Decode base64, of a data URL too. Raises ApiError."""
    if text.startswith("data:"):
        text = text.partition(",")[2]
    try:
        content = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise ApiError(400, "ref_audio is not base64", param="ref_audio") from None
    if len(content) > MAX_UPLOAD:
        raise ApiError(413, f"ref_audio is larger than {MAX_UPLOAD >> 20} MiB", param="ref_audio")
    return content


def check_recording(path: Path, field: str) -> None:
    """Check a recording that a request brought. Raises ApiError 400 that names the field instead of the file."""
    try:
        with open_sound(path) as (_, sound):
            seconds = sound.frames / sound.samplerate
        if seconds > MAX_UPLOAD_S:
            raise AudioError(f"{printable(path)}: {seconds:,.0f} s long; at most {MAX_UPLOAD_S:g} s can be sent")
        check_voice(path)
    except AudioError as error:
        raise ApiError(400, str(error).replace(printable(path), field), param=field) from None


def stored_voice(name: str) -> tuple[Path, VoiceInfo]:
    """Return the file of a stored voice and its metadata. Raises ApiError 404 when there is none of that name."""
    names = voice_names()
    if name not in names or name.endswith(SUFFIX):
        there = f"there are {', '.join(names[:20])}" if names else "there are none yet"
        raise ApiError(404, f"no voice {name[:64]!r}; {there}, or omit it for the model's own", param="voice")
    path = voice_path(name)
    return path, check_voice_file(path)


def _check_combination(asked: SpokenFields, control: str | None) -> None:
    if asked.ref_audio is not None and asked.voice_name is not None:
        raise ApiError(400, "voice and ref_audio exclude each other: a voice already contains a recording")
    if asked.ref_text is not None and asked.ref_audio is None:
        raise ApiError(400, "ref_text needs ref_audio, the recording it is spoken in", param="ref_text")
    if asked.ref_text is not None and not is_speakable(clean(asked.ref_text)):
        raise ApiError(400, "ref_text has no letter and no digit: give the words of the recording", param="ref_text")
    if asked.ref_text and control:
        raise ApiError(400, "ref_text and a description exclude each other: a voice is continued or described")
