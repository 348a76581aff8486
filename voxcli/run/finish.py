"""From the clips of a job to its audio, its file and its result."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from voxcli.audio.join import join
from voxcli.audio.levels import silence_at_end, to_level
from voxcli.audio.loudness import to_loudness
from voxcli.audio.resample import resample
from voxcli.audio.write import write_audio
from voxcli.engine.request import Clip
from voxcli.files.read import content_digest
from voxcli.files.write import make_folder
from voxcli.jobs.cues import make_cues
from voxcli.jobs.result import CUT_OFF, Cue, Result, now, shown_path
from voxcli.run.running_job import RunningJob

MISSED_LU = 0.5  # below the loudness asked for, above which a file gets a warning
LONG_SILENCE_S = 1.0  # trailing silence above which a file gets a warning


@dataclass(frozen=True, eq=False)
class JobAudio:
    """The audio of a complete job as its file contains it: float32[n], mono, full scale 1.

    trailing_s: seconds of silence at its end that were not asked for.
    quieter:    LU that its peak keeps it below the loudness that was asked for.
    """

    samples: NDArray[np.float32]
    rate: int
    stop_reason: str
    cues: tuple[Cue, ...]
    trailing_s: float
    quieter: float = 0.0


def audio_of(running: RunningJob) -> JobAudio:
    """Join the clips of a complete job and apply the settings that concern the whole audio."""
    job, segments = running.job, running.utterance.segments
    clips = [running.clips[index] for index in range(len(segments))]
    rate = clips[0].sample_rate
    parts = [clip.audio for clip in clips if clip.audio is not None]
    pauses, lead_s = [segment.pause_s for segment in segments], running.utterance.lead_s
    # a single clip stays exactly as the model made it
    alone = len(parts) == 1 and not pauses[0] and not lead_s
    audio = parts[0] if alone else join(parts, pauses, rate, lead_s)
    limit = len(audio) if job.settings.max_seconds is None else round(job.settings.max_seconds * rate)
    stop_reason = "length" if len(audio) > limit else _worst(clips)
    audio = audio[:limit]
    cues = make_cues(segments, [len(part) for part in parts], rate, limit, lead_s)
    if job.sample_rate is not None:
        audio, rate = resample(audio, rate, job.sample_rate), job.sample_rate
    if job.settings.level is not None:
        audio = to_level(audio, rate, job.settings.level)
    quieter = 0.0
    if job.settings.loudness is not None:
        audio, quieter = to_loudness(audio, rate, job.settings.loudness)
    return JobAudio(audio, rate, stop_reason, cues, silence_at_end(audio, rate) - pauses[-1], quieter)


def write_file(running: RunningJob, out: Path) -> Result:
    """Write the file of a complete job. `out` is the folder that the result names it from."""
    job, audio = running.job, audio_of(running)
    make_folder(job.out.parent)
    write_audio(job.out, audio.samples, audio.rate, format=job.format, bitrate=job.settings.bitrate, tags=job.tags)
    return result_of(running, audio, shown_path(job.out, out), content_digest(job.out))


def result_of(running: RunningJob, audio: JobAudio, out: str, sha256: str | None) -> Result:
    """Return the result of a complete job. out, sha256: of its file, see `Result`; None for audio without a file."""
    clips = running.clips.values()
    duration, wall = len(audio.samples) / audio.rate, running.ended - running.began
    result = Result(
        id=running.job.id,
        out=out,
        text=running.job.text,
        status="ok",
        duration_s=round(duration, 4),
        wall_s=round(wall, 4),
        rtf=round(wall / duration, 4),
        patches=sum(clip.patches for clip in clips),
        stop_reason=audio.stop_reason,
        seed=running.spoken_seed,
        attempts=running.attempts,
        sample_rate=audio.rate,
        description=running.utterance.description or None,
        voice_notes=running.voice.notes if running.voice else (),
        voice=running.utterance.shared_voice,
        warnings=(*running.utterance.warnings, *running.unknown, *_doubts(running, audio)),
        sha256=sha256,
        exact=all(clip.exact for clip in clips),
        fingerprint=asdict(running.utterance.fingerprint) if running.utterance.fingerprint else None,
        finished=now(),
        cues=audio.cues,
        extra=running.job.extra or None,
        take=running.job.recorded_take,
        review=running.utterance.review,
    )
    if running.takes is None:
        return result
    return running.takes.line_check(audio.samples, audio.rate, audio.cues).applied(result)


def _worst(clips: Iterable[Clip]) -> str:
    """Return the stop reason of a job: the most serious one of its clips."""
    reasons = {clip.stop_reason for clip in clips}
    return next(reason for reason in ("length", "silence", "stop") if reason in reasons)


def _doubts(running: RunningJob, audio: JobAudio) -> Iterator[str]:
    """Yield warnings about a file that should be listened to before it is used."""
    if audio.stop_reason == "length":
        yield CUT_OFF
    if running.silence_s:
        yield f"{running.silence_s:.1f} s of trailing silence removed: the model did not stop by itself"
    bad = [clip for clip in running.clips.values() if clip.bad_case]
    for how, too_short in (("long", False), ("short", True)):
        if attempts := [clip.attempts for clip in bad if clip.too_short == too_short]:
            yield f"far too {how} for its text, even after {max(attempts)} attempts"
    if audio.trailing_s > LONG_SILENCE_S:
        yield f"{audio.trailing_s:.1f} s of trailing silence"
    if audio.quieter >= MISSED_LU:
        yield f"{audio.quieter:.1f} LU below the loudness asked for: its peak allows no more"
