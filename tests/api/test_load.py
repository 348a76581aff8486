"""`voxcli.load`: presets, what can't be loaded, closing."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import voxcli
from tests.api.loaded import engine_of
from voxcli import TTS
from voxcli.api.shared import CLOSED
from voxcli.errors import InputError

pytestmark = pytest.mark.usefixtures("here")


def test_a_preset_holds_until_it_is_overridden(tiny_checkpoint: Path, tts: TTS) -> None:
    Path("own.yaml").write_text("settings: {steps: 2, seed: 4, max_seconds: 1.0}\nengine: {max_batch: 2}\n")
    with voxcli.load(tiny_checkpoint, preset=Path("own.yaml"), notify=[].append) as preset:
        assert engine_of(preset).config.max_batch == 2
        same = tts.speak("Hello.", steps=2, seed=4, max_seconds=1.0).audio
        assert np.array_equal(preset.speak("Hello.").audio, same)
        assert not np.array_equal(preset.speak("Hello.", seed=5).audio, same)
    with pytest.raises(InputError, match=r"^preset 'own\.yaml' sets max_batch for the engine: name it in load\(\)$"):
        tts.speak("Hello.", preset="own.yaml")
    Path("line.yaml").write_text("settings: {steps: 2, max_seconds: 1.0}\n")
    assert np.array_equal(tts.speak("Hello.", preset="line.yaml", seed=4).audio, same)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"model": "no/where/at/all"}, "no"),
        ({"device": "tpu"}, "device 'tpu' is not one of auto, cpu, cuda, cuda:N, mps"),
        ({"max_batch": 0}, "max_batch must be a whole number of at least 1, not 0"),
        ({"preset": "fst"}, "no preset 'fst'; did you mean 'fast'?"),
    ],
    ids=["model", "device", "max_batch", "preset"],
)
def test_what_can_not_be_loaded(tiny_checkpoint: Path, options: dict[str, Any], message: str) -> None:
    with pytest.raises(voxcli.VoxError) as caught:
        voxcli.load(**{"model": tiny_checkpoint, "notify": pytest.fail} | options)
    assert message in str(caught.value)


def test_closing_frees_the_model(tiny_checkpoint: Path) -> None:
    tts = voxcli.load(tiny_checkpoint, notify=[].append)
    model = weakref.ref(engine_of(tts).model)
    clip = tts.speak("One.", steps=2, max_seconds=0.5)
    stream = tts.stream("Two.", steps=2, max_seconds=0.5)
    next(stream)
    tts.close()
    tts.close()
    gc.collect()
    assert model() is None
    assert list(stream) == []
    for call in (lambda: tts.speak("Three."), lambda: list(tts.batch(["Three."])), lambda: next(tts.stream("Three."))):
        with pytest.raises(InputError) as caught:
            call()
        assert str(caught.value) == CLOSED
    assert clip.save("a.wav").exists()
