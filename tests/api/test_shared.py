"""Calls that share an engine: of one thread, of several, and after an interrupt."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.api.audio import tone
from tests.api.loaded import LIMITS, LONG, check_free, engine_of
from voxcli import TTS
from voxcli.api.shared import OPEN
from voxcli.errors import InputError

pytestmark = pytest.mark.usefixtures("here")


def test_a_second_call_of_the_thread_with_an_open_one_is_an_error(tts: TTS) -> None:
    batch = tts.batch([LONG, "Two."], **LIMITS)
    stream = tts.stream("Hello.", **LIMITS)
    next(batch)
    calls: list[Callable[[], object]] = [
        lambda: tts.speak("Hello."),
        lambda: next(stream),
        lambda: list(tts.batch(["One."])),
        lambda: tts.voice(tone("me.wav")),
    ]
    for call in calls:
        with pytest.raises(InputError) as caught:
            call()
        assert str(caught.value) == OPEN
    assert len(list(batch)) == 1
    assert tts.speak("Hello.", **LIMITS).error is None


def test_threads_take_turns(tts: TTS) -> None:
    texts = [f"Line {number}." for number in range(4)]
    expected = {text: tts.speak(text, **LIMITS).audio for text in texts}
    found: dict[str, np.ndarray] = {}

    def work(text: str) -> None:
        for clip in tts.batch([text], **LIMITS):
            found[text] = clip.audio
        assert np.array_equal(np.concatenate(list(tts.stream(text, **LIMITS))).shape, expected[text].shape)

    threads = [threading.Thread(target=work, args=(text,)) for text in texts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(np.array_equal(found[text], expected[text]) for text in texts)
    check_free(tts)


def test_a_batch_may_be_continued_by_another_thread(tts: TTS) -> None:
    batch = tts.batch(["One.", "Two.", "Three."], steps=2, max_seconds=0.5)
    next(batch)
    errors: list[str] = []

    def work() -> None:
        next(batch)
        try:  # would wait forever: this thread itself is to continue the batch
            tts.speak("Four.")
        except InputError as error:
            errors.append(str(error))
        list(batch)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert errors == [OPEN]
    assert tts.speak("Four.", steps=2, max_seconds=0.5).error is None


@pytest.mark.parametrize("kind", [KeyboardInterrupt, ZeroDivisionError])
def test_an_interrupt_in_the_middle_of_a_step_leaves_nothing(
    tts: TTS, monkeypatch: pytest.MonkeyPatch, kind: type[BaseException]
) -> None:
    expected = tts.speak(LONG, **LIMITS).audio
    broken = engine_of(tts)
    admit = broken.scheduler.admit

    def interrupted() -> Any:
        admit()  # rows and pages are taken, and nobody has them
        broken.scheduler.running.clear()
        raise kind

    monkeypatch.setattr(broken.scheduler, "admit", interrupted)
    with pytest.raises(kind):
        tts.speak(LONG, **LIMITS)
    assert np.array_equal(tts.speak(LONG, **LIMITS).audio, expected)
    assert engine_of(tts) is not broken
    check_free(tts)
