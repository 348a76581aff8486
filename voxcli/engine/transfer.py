"""Copies of small tensors between the CPU and the device without synchronization, and a check that the device works."""

from __future__ import annotations

import torch

from voxcli.errors import DeviceError, in_one_line
from voxcli.memory import is_out_of_memory


def upload(value: torch.Tensor, device: torch.device) -> torch.Tensor:
    """Copy a CPU tensor to the device, after the work already queued there.

    The copy uses pinned memory, which torch does not reuse before the copy has run.
    """
    if device.type != "cuda":
        return value.to(device)
    return value.pin_memory().to(device, non_blocking=True)


def upload_into(target: torch.Tensor, value: torch.Tensor) -> None:
    """Copy a CPU tensor into an existing tensor, as `upload` does."""
    target.copy_(value.pin_memory() if target.is_cuda else value, non_blocking=True)


class Download:
    """An asynchronous copy of a device tensor to the CPU, queued after the work that computes the tensor."""

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
        """Wait for the copy and return the tensor on the CPU."""
        if self._event is not None:
            self._event.synchronize()
        return self._value


def check_device(device: torch.device, error: Exception) -> None:
    """Raise DeviceError if the device no longer works after `error`.

    After some CUDA errors nothing works in the process any more, and every remaining request would fail because of it.
    """
    if not responds(device):
        raise DeviceError(f"{device} no longer works ({in_one_line(error)})") from error


def responds(device: torch.device) -> bool:
    """Return whether the device still computes. Running out of memory does not count as a failure."""
    if device.type == "cpu":
        return True
    try:
        return bool(torch.ones(1, device=device).sum().item() == 1)
    except RuntimeError as error:
        return is_out_of_memory(error)
