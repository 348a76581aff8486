"""A program as people write it. mypy checks it (see pyproject.toml); a line that is wrong must be an error there."""

from __future__ import annotations

from pathlib import Path

import voxcli


def main() -> None:
    with voxcli.load("openbmb/VoxCPM2", device="cpu", lora=Path("adapter"), notify=print) as tts:
        voice: voxcli.Voice = tts.voice("me.wav", text="what it says")
        clip: voxcli.Speech = tts.speak("Hello.", voice="anna", seed=7)
        path: Path = clip.save("hello.mp3")
        total: float = clip.audio.sum() / clip.sample_rate
        for start, end, text in clip.cues:
            print(start - end, text.upper(), path, total)
        for each in tts.batch([{"id": "a", "text": "One."}, "Two."], voice=voice, steps=16):
            print(each.error, each.id)
        for block in tts.stream("A long text.", cfg=2.5, ref=path):
            print(block.dtype)
        tts.speak("Hello.", stepz=16)  # type: ignore[call-arg]
        tts.speak("Hello.", steps="16")  # type: ignore[arg-type]
        tts.speak(3)  # type: ignore[arg-type]
        tts.batch([3])  # type: ignore[list-item]
        clip.sample_rate = 1  # type: ignore[misc]
