"""Measure a server: streams that arrive at random (open loop), or a fixed number at once (closed loop).

Open loop: requests arrive at the times of a Poisson process, whatever the server does; their time counts from then. A
player is assumed that begins with the first audio; a stream has an underrun when it has played all that has arrived.
"""

from __future__ import annotations

import asyncio
import json
import math
import random
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rich.table import Table

from voxcli.diagnostics.httpstream import Target, send
from voxcli.errors import SynthesisError, VoxError
from voxcli.terminal import counted

CLIP_S = (3.0, 8.0)  # length of the clips: uniform
CHARS_PER_S = 15  # of speech
WARM_UP_S = 5.0  # requests of these first seconds are not counted
TEXT = "The quick brown fox jumps over the lazy dog, and the dog sleeps on in the warm light of the afternoon. "


@dataclass(frozen=True)
class StreamResult:
    """One stream. Times in seconds from its arrival. error: why there is no (whole) audio."""

    first_s: float = 0.0
    total_s: float = 0.0
    audio_s: float = 0.0
    underruns: int = 0
    error: str | None = None


@dataclass(frozen=True)
class LoadMeasurement:
    """One load. rate: arrivals per second; None in a closed loop.  concurrency: streams at once; None in an open loop.

    requests:     that arrived after the warm-up.
    failed:       of them without whole audio; refused: of those, with status 429.
    first_ms_*:   percentiles of the time to the first audio.
    underruns:    streams that a player would have had to wait for.
    rtf_*:        percentiles of the seconds of a request per second of its audio.
    throughput:   seconds of audio per second, of all streams together, while requests arrived.
    at_once:      maximum number of streams at once.
    """

    rate: float | None
    concurrency: int | None
    requests: int
    failed: int
    refused: int
    first_ms_p50: float
    first_ms_p95: float
    first_ms_p99: float
    underruns: int
    rtf_p50: float
    rtf_p95: float
    throughput: float
    at_once: int
    errors: dict[str, int]


@dataclass(frozen=True)
class LoadReport:
    """Measurements and what they were made of."""

    server: str
    model: str
    seconds: float
    clip_s: tuple[float, float]
    rows: tuple[LoadMeasurement, ...]

    def as_dict(self) -> dict[str, Any]:
        """Return values for JSON, which has no nan."""
        values = asdict(self)
        for row in values["rows"]:
            for name, value in row.items():
                if isinstance(value, float) and math.isnan(value):
                    row[name] = None
        return values

    def tables(self) -> list[Table]:
        table = Table(
            title=f"{self.model}\n{self.server}",
            caption=f"{self.seconds:g} s each, clips of {self.clip_s[0]:g} to {self.clip_s[1]:g} s, streamed",
        )
        names = ("load", "requests", "failed", "first audio, ms\np50/p95/p99", "under-\nruns", "RTF\np95")
        for name in (*names, "x real\ntime"):
            table.add_column(name, justify="right", no_wrap=True)
        for row in self.rows:
            load = f"{row.rate:g}/s" if row.rate is not None else f"{row.concurrency} at once"
            first = f"{row.first_ms_p50:.0f}/{row.first_ms_p95:.0f}/{row.first_ms_p99:.0f}"
            cells = (load, str(row.requests), str(row.failed), first, str(row.underruns), f"{row.rtf_p95:.3f}")
            table.add_row(*cells, f"{row.throughput:.1f}")
        return [table]


def measure_load(
    target: Target,
    rates: Sequence[float],
    concurrency: Sequence[int],
    seconds: float,
    on_row: Callable[[str], None],
) -> LoadReport:
    """Measure each rate, then each number of streams at once. `on_row` is called with each before it starts.

    Raises SynthesisError when the server does not answer.
    """
    return asyncio.run(_measure(target, rates, concurrency, seconds, on_row))


async def _measure(
    target: Target, rates: Sequence[float], concurrency: Sequence[int], seconds: float, on_row: Callable[[str], None]
) -> LoadReport:
    model = await _model(target)
    rows = []
    for rate in rates:
        on_row(f"{rate:g} requests a second ...")
        rows.append(await _Load(target).open_loop(rate, seconds))
    for count in concurrency:
        on_row(f"{counted(count, 'stream')} at once ...")
        rows.append(await _Load(target).closed_loop(count, seconds))
    return LoadReport(str(target), model, seconds, CLIP_S, tuple(rows))


async def _model(target: Target) -> str:
    reply = await send(target, "GET", "/v1/models")
    try:
        if reply.status != 200:
            raise SynthesisError(f"{target}: {await reply.error()}")
        return str(json.loads(await reply.read())["data"][0]["name"])
    except (ValueError, KeyError, IndexError) as error:
        raise SynthesisError(f"{target} is no voxcpm2 server") from error
    finally:
        await reply.close()


class _Load:
    def __init__(self, target: Target):
        self._target = target
        self._random = random.Random(0)  # the same requests in each run
        self._results: list[StreamResult] = []
        self._now = self._most = 0
        self._audio: list[tuple[float, float]] = []  # time of arrival, seconds of audio

    async def open_loop(self, rate: float, seconds: float) -> LoadMeasurement:
        began = time.perf_counter()
        counted = began + WARM_UP_S
        streams = []
        at = began
        while (at := at + self._random.expovariate(rate)) < counted + seconds:
            body = self._body()
            await asyncio.sleep(max(0.0, at - time.perf_counter()))
            streams.append(asyncio.create_task(self._stream(body, at, counts=at >= counted)))
        if streams:
            await asyncio.wait(streams)
        return self._row(rate, None, counted, seconds)

    async def closed_loop(self, count: int, seconds: float) -> LoadMeasurement:
        began = time.perf_counter()
        counted = began + WARM_UP_S

        async def reader() -> None:
            while (at := time.perf_counter()) < counted + seconds:
                await self._stream(self._body(), at, counts=at >= counted)
                if self._results and self._results[-1].error is not None:
                    await asyncio.sleep(0.1)  # refused at once: do not ask in a tight loop

        await asyncio.gather(*(reader() for _ in range(count)))
        return self._row(None, count, counted, seconds)

    def _body(self) -> dict[str, Any]:
        length = self._random.uniform(*CLIP_S)
        start = self._random.randrange(len(TEXT))
        text = (TEXT * 4)[start : start + round(length * CHARS_PER_S)]
        return {
            "input": text,
            "response_format": "pcm",
            "stream_format": "audio",
            "seed": self._random.randrange(2**31),
            "max_seconds": round(length, 2),
        }

    async def _stream(self, body: dict[str, Any], at: float, counts: bool) -> None:
        self._now += 1
        self._most = max(self._most, self._now)
        try:
            result = await self._heard(body, at)
        except VoxError as error:
            result = StreamResult(error=str(error))
        finally:
            self._now -= 1
        if counts:
            self._results.append(result)

    async def _heard(self, body: dict[str, Any], at: float) -> StreamResult:
        reply = await send(self._target, "POST", "/v1/audio/speech", body)
        try:
            if reply.status != 200:
                return StreamResult(error=f"{reply.status}: {await reply.error()}")
            rate = int(reply.headers["content-type"].partition("rate=")[2].partition(";")[0])
            first = played = last = 0.0
            audio_s, underruns = 0.0, 0
            async for piece in reply:
                last = time.perf_counter()
                seconds = len(piece) / 2 / rate
                first = first or last
                underruns += bool(played) and last > played
                played = max(played, last) + seconds
                audio_s += seconds
                self._audio.append((last, seconds))
        finally:
            await reply.close()
        return StreamResult(first - at, last - at, audio_s, underruns)

    def _row(self, rate: float | None, concurrency: int | None, counted: float, seconds: float) -> LoadMeasurement:
        good = [result for result in self._results if result.error is None]
        errors = Counter(result.error for result in self._results if result.error is not None)
        first = [1000 * result.first_s for result in good]
        factors = [result.total_s / result.audio_s for result in good if result.audio_s]
        audio_s = sum(length for at, length in self._audio if counted <= at <= counted + seconds)
        return LoadMeasurement(
            rate=rate,
            concurrency=concurrency,
            requests=len(self._results),
            failed=len(self._results) - len(good),
            refused=sum(count for error, count in errors.items() if error.startswith("429")),
            first_ms_p50=percentile(first, 50),
            first_ms_p95=percentile(first, 95),
            first_ms_p99=percentile(first, 99),
            underruns=sum(result.underruns > 0 for result in good),
            rtf_p50=percentile(factors, 50),
            rtf_p95=percentile(factors, 95),
            throughput=audio_s / seconds,
            at_once=self._most,
            errors=dict(errors.most_common(5)),
        )


def percentile(values: Sequence[float], percent: float) -> float:
    """The smallest value that `percent` of the values do not exceed; nan for none."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(percent / 100 * len(ordered)) - 1)] if ordered else math.nan
