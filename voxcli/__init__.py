"""voxcpm2: text-to-speech with VoxCPM2.

    import voxcli

    tts = voxcli.load()
    clip = tts.speak("Hello.", seed=7)
    clip.save("hello.mp3")

`load` returns a `TTS`, which speaks one text (`speak`), many at once (`batch`) or block by block (`stream`), and
encodes recordings of voices (`voice`). All errors are VoxErrors. See `help(voxcli.TTS)`, `help(voxcli.SpeechOptions)`
and voxcli/api/README.md.

The engine below it takes token ids and returns samples:

    model = voxcli.load_model("path/to/checkpoint")
    prompt = voxcli.build_prompt(model.tokenizer, "Hello there.", patch_shape=model.patch_shape)
    for clip in voxcli.Engine(model).generate([voxcli.Request("hello", prompt, voxcli.Sampling(seed=1))]):
        print(clip.request_id, clip.duration_s, clip.audio)

Names are imported when they are first used. The command line imports this package before it handles signals, so
nothing slow, such as torch, may be imported here.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from voxcli.api.load import load as load
    from voxcli.api.notify import VoxWarning as VoxWarning
    from voxcli.api.options import SpeechOptions as SpeechOptions
    from voxcli.api.speech import Speech as Speech
    from voxcli.api.stream import SpeechStream as SpeechStream
    from voxcli.api.tts import TTS as TTS
    from voxcli.api.voice import Voice as Voice
    from voxcli.check.options import CheckOptions as CheckOptions
    from voxcli.engine.config import EngineConfig as EngineConfig
    from voxcli.engine.engine import Engine as Engine
    from voxcli.engine.request import Clip as Clip
    from voxcli.engine.request import Request as Request
    from voxcli.engine.request import Sampling as Sampling
    from voxcli.errors import VoxError as VoxError
    from voxcli.model.prompt import build_prompt as build_prompt
    from voxcli.model.weights import load_model as load_model

_HOMES = {
    "CheckOptions": "voxcli.check.options",
    "Clip": "voxcli.engine.request",
    "Engine": "voxcli.engine.engine",
    "EngineConfig": "voxcli.engine.config",
    "Request": "voxcli.engine.request",
    "Sampling": "voxcli.engine.request",
    "Speech": "voxcli.api.speech",
    "SpeechOptions": "voxcli.api.options",
    "SpeechStream": "voxcli.api.stream",
    "TTS": "voxcli.api.tts",
    "Voice": "voxcli.api.voice",
    "VoxError": "voxcli.errors",
    "VoxWarning": "voxcli.api.notify",
    "build_prompt": "voxcli.model.prompt",
    "load": "voxcli.api.load",
    "load_model": "voxcli.model.weights",
}
__all__ = sorted(_HOMES)


def __getattr__(name: str) -> "Any":
    if name not in _HOMES:
        raise AttributeError(f"module 'voxcli' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> "list[str]":
    return sorted([*__all__, *(name for name in globals() if name.startswith("__"))])
