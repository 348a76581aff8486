"""voxcpm2: batch text-to-speech with VoxCPM2.

From Python:

    from voxcli import Engine, Request, Sampling, build_prompt, load_model

    model = load_model("path/to/checkpoint")
    prompt = build_prompt(model.tokenizer, "Hello there.", patch_shape=model.patch_shape)
    for clip in Engine(model).generate([Request("hello", prompt, Sampling(seed=1))]):
        print(clip.request_id, clip.duration_s, clip.audio)

Names are imported when they are first used. The command line imports this package before it handles signals, so
nothing slow, such as torch, may be imported here.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from voxcli.engine.config import EngineConfig as EngineConfig
    from voxcli.engine.engine import Engine as Engine
    from voxcli.engine.request import Clip as Clip
    from voxcli.engine.request import Request as Request
    from voxcli.engine.request import Sampling as Sampling
    from voxcli.errors import VoxError as VoxError
    from voxcli.model.prompt import build_prompt as build_prompt
    from voxcli.model.weights import load_model as load_model

_HOMES = {
    "Clip": "voxcli.engine.request",
    "Engine": "voxcli.engine.engine",
    "EngineConfig": "voxcli.engine.config",
    "Request": "voxcli.engine.request",
    "Sampling": "voxcli.engine.request",
    "VoxError": "voxcli.errors",
    "build_prompt": "voxcli.model.prompt",
    "load_model": "voxcli.model.weights",
}
__all__ = sorted(_HOMES)


def __getattr__(name: str) -> "Any":
    if name not in _HOMES:
        raise AttributeError(f"module 'voxcli' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)
