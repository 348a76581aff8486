"""`voxcli.load`: choose a model as the commands do, and load it."""

from __future__ import annotations

import os
from os import PathLike

from voxcli.api.notify import warn
from voxcli.api.tts import TTS, Notify
from voxcli.engine.load import ModelOptions, load_engine
from voxcli.errors import InputError, quoted
from voxcli.files.located import located
from voxcli.inputs.presets import EngineFields, read_preset
from voxcli.jobs.settings import DEFAULTS


def load(
    model: str | PathLike[str] | None = None,
    *,
    device: str = "auto",
    dtype: str = "auto",
    lora: str | PathLike[str] | None = None,
    max_batch: int | None = None,
    preset: str | PathLike[str] | None = None,
    notify: Notify = warn,
) -> TTS:
    """Load a model; takes seconds.

    model:     checkpoint folder, or id on the Hugging Face hub; None: $VOXCPM2_MODEL, else openbmb/VoxCPM2 if it is
               downloaded, else the demo voice.
    device:    auto, cpu, cuda, cuda:N or mps.
    dtype:     auto, float32, bfloat16 or float16.
    lora:      folder of a LoRA adapter to merge into the model.
    max_batch: maximum number of texts that are spoken at once; None: by device.
    preset:    settings by name, see `voxcpm2 presets`, or a .yaml file; they hold for calls that do not override them.
    notify:    receives messages for people, one line each; default: they become warnings, of the class VoxWarning.

    Raises ModelError when there is no such model or device, InputError for other arguments.
    """
    if max_batch is not None and (type(max_batch) is not int or max_batch < 1):
        raise InputError(f"max_batch must be a whole number of at least 1, not {quoted(max_batch)}")
    settings, engine = DEFAULTS, EngineFields()
    if preset is not None:
        found = read_preset(os.fspath(preset))
        settings = settings.updated(found.settings.model_dump(exclude_none=True))
        engine = found.engine
    options = ModelOptions(
        model=os.fspath(model) if model is not None else None,
        device=device,
        dtype=dtype,
        max_batch=max_batch or engine.max_batch,
        lora=located(os.fspath(lora)) if lora is not None else None,
        prefill_tokens=engine.prefill_tokens,
        decode_clips=engine.decode_clips,
    )
    return TTS(load_engine(options, notify), options, settings, notify)
