"""The audio of one text while it is generated."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Generator
from contextlib import closing
from dataclasses import dataclass, replace
from types import TracebackType

import numpy as np
from numpy.typing import NDArray

from voxcli.api.shared import SharedEngine
from voxcli.jobs.plan import Utterance
from voxcli.run.stream import Stream

Samples = NDArray[np.float32]


class SpeechStream:
    """An iterator over float32[n] blocks, mono, full scale 1: the first when the first patch is made.

    What was heard can't be taken back: a clip far too long or short for its text is not made again, and the levels of a
    long text's segments are not matched. Otherwise the audio is that of `speak`. Closing it, also by leaving a `with`
    block, ends the synthesis. Raises VoxError when it can't go on.

    sample_rate: of the blocks, in Hz.
    seed:        reproduces the audio.
    """

    sample_rate: int
    seed: int

    def __init__(
        self, shared: SharedEngine, utterance: Utterance, sample_rate: int, notify: Callable[[str], None], keep: object
    ):
        """keep: lives as long as the stream."""
        seed = utterance.job.settings.seed
        self.sample_rate = sample_rate
        self.seed = secrets.randbits(31) if seed is None else seed
        self._end = _End()
        self._keep = keep
        utterance = replace(utterance, seed=self.seed)
        self._blocks = shared.opened(_blocks(shared, utterance, notify, self._end))

    @property
    def cut_off(self) -> bool:
        """Whether a length limit cut the speech off; known at the end."""
        return self._end.cut_off

    def __iter__(self) -> SpeechStream:
        return self

    def __next__(self) -> Samples:
        return next(self._blocks)

    def close(self) -> None:
        """End the synthesis and free the engine."""
        self._blocks.close()

    def __enter__(self) -> SpeechStream:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.close()


@dataclass
class _End:
    """What is known at the end of a stream."""

    cut_off: bool = False


def _blocks(
    shared: SharedEngine, utterance: Utterance, notify: Callable[[str], None], end: _End
) -> Generator[Samples, None, None]:
    """Yield blocks. Does not refer to the stream, which is closed when nobody refers to it any more."""
    with shared.use() as loaded:
        stream = Stream(loaded.engine, utterance, encoder=shared.encoder, notify=notify)
        with closing(iter(stream)) as blocks:
            for block in blocks:
                if len(block):
                    yield block
                    shared.resumed()
        end.cut_off = stream.cut_off
