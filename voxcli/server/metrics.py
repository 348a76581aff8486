"""What the server counts, as text that Prometheus reads (exposition format 0.0.4)."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from voxcli.server.messages import EngineStatus

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
PREFIX = "voxcpm2_"
SECONDS = (0.02, 0.03, 0.05, 0.08, 0.12, 0.2, 0.3, 0.5, 0.8, 1.2, 2.0, 5.0, 10.0, 30.0)
FACTORS = (0.005, 0.01, 0.02, 0.03, 0.05, 0.08, 0.12, 0.2, 0.3, 0.5, 0.8, 1.0, 1.5, 3.0)


class Histogram:
    """Counts of values up to each of `edges`."""

    def __init__(self, edges: Sequence[float]):
        self._edges = edges
        self._counts = [0] * (len(edges) + 1)
        self._sum = 0.0

    def observe(self, value: float) -> None:
        self._counts[bisect_left(self._edges, value)] += 1
        self._sum += value

    def lines(self, name: str) -> Iterator[str]:
        total = 0
        for edge, count in zip((*self._edges, "+Inf"), self._counts, strict=True):
            total += count
            yield f'{name}_bucket{{le="{edge}"}} {total}'
        yield f"{name}_sum {self._sum:.6f}"
        yield f"{name}_count {total}"


class Metrics:
    """
    requests:    finished HTTP requests, by (path, status).
    first_audio: seconds from the arrival of a streaming request to its first audio.
    rtf:         real-time factors: seconds from arrival to the end, per second of audio.
    underruns:   times that a stream's next audio was made after what was sent had been played.
    """

    def __init__(self) -> None:
        self.requests: Counter[tuple[str, int]] = Counter()
        self.first_audio = Histogram(SECONDS)
        self.rtf = Histogram(FACTORS)
        self.underruns = 0
        self.cancelled = 0
        self.audio_s = 0.0

    def text(self, engine: EngineStatus, queue: Mapping[str, float]) -> str:
        """queue: further gauges by name."""
        return "\n".join(self._lines(engine, queue)) + "\n"

    def _lines(self, engine: EngineStatus, queue: Mapping[str, float]) -> Iterator[str]:
        yield from _head("requests_total", "counter", "HTTP requests that have ended.")
        for (path, status), count in sorted(self.requests.items()):
            yield f'{PREFIX}requests_total{{path="{path}",status="{status}"}} {count}'
        for name, value, help in (
            ("cancelled_total", self.cancelled, "Requests whose client left before the end."),
            ("underruns_total", self.underruns, "Audio of streams that came after what was sent had been played."),
            ("audio_seconds_total", round(self.audio_s, 4), "Seconds of audio made."),
            ("steps_total", engine.steps, "Steps of the engine."),
        ):
            yield from _head(name, "counter", help)
            yield f"{PREFIX}{name} {value}"
        for name, gauge, help in (
            ("rows", engine.rows, "Segments that are being spoken."),
            ("rows_limit", engine.rows_total, "Maximum of rows."),
            ("pages", engine.pages, "Pages of the cache in use."),
            ("pages_limit", engine.pages_total, "Pages of the cache."),
            ("segments_waiting", engine.waiting, "Segments that wait for a row."),
            *((name, value, "") for name, value in queue.items()),
        ):
            yield from _head(name, "gauge", help)
            yield f"{PREFIX}{name} {gauge:g}"
        for name, histogram, help in (
            ("first_audio_seconds", self.first_audio, "Seconds to the first audio of a stream."),
            ("real_time_factor", self.rtf, "Seconds of a request per second of its audio."),
        ):
            yield from _head(name, "histogram", help)
            yield from histogram.lines(PREFIX + name)


def _head(name: str, kind: str, help: str) -> Iterator[str]:
    if help:
        yield f"# HELP {PREFIX}{name} {help}"
    yield f"# TYPE {PREFIX}{name} {kind}"
