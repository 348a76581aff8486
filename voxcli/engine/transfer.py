"""Small tensors between the CPU and the device, without either waiting for the other; and whether it still answers."""

from __future__ import annotations

import torch

from voxcli.errors import DeviceError, in_one_line
from voxcli.memory import is_out_of_memory


def upload(value: torch.Tensor, device: torch.device) -> torch.Tensor:
    """A copy of a CPU tensor on the device, queued behind what already runs there.

    Through pinned memory: torch keeps such a block from being used again before its copy has run.
    """
    if device.type != "cuda":
        return value.to(device)
    return value.pin_memory().to(device, non_blocking=True)


def upload_into(place: torch.Tensor, value: torch.Tensor) -> None:
    """The same into a tensor that is there."""
    place.copy_(value.pin_memory() if place.is_cuda else value, non_blocking=True)


class Download:
    """A copy of a device tensor on its way to the CPU, queued behind what makes it."""

    def __init__(self, value: torch.Tensor):
        self._event: torch.cuda.Event | None = None
        if value.is_cuda:
            self._value = torch.empty(value.shape, dtype=value.dtype, pin_memory=True)
            self._value.copy_(value, non_blocking=True)
            self._event = torch.cuda.Event()
            self._event.record()
        else:
            self._value = value.cpu()

    @property
    def ready(self) -> bool:
        return self._event is None or self._event.query()

    def wait(self) -> torch.Tensor:
        if self._event is not None:
            self._event.synchronize()
        return self._value


def check_device(device: torch.device, error: Exception) -> None:
    """Raises DeviceError when `error` is the device's own: after some errors of CUDA nothing works in this process any
    more, and every request that is left would fail for no fault of its own.
    """
    if not answers(device):
        raise DeviceError(f"{device} no longer works ({in_one_line(error)})") from error


def answers(device: torch.device) -> bool:
    """Whether the device still computes."""
    if device.type == "cpu":
        return True
    try:
        return bool(torch.ones(1, device=device).sum().item() == 1)
    except RuntimeError as error:
        return is_out_of_memory(error)
