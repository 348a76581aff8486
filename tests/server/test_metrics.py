from __future__ import annotations

from voxcli.server.messages import EngineStatus
from voxcli.server.metrics import Histogram, Metrics

STATUS = EngineStatus(rows=2, rows_total=32, pages=9, pages_total=100, waiting=1, steps=77)


def test_a_histogram_counts_values_up_to_each_edge() -> None:
    histogram = Histogram((0.1, 1.0))
    for value in (0.1, 0.2, 5.0):
        histogram.observe(value)
    assert list(histogram.lines("h")) == [
        'h_bucket{le="0.1"} 1',
        'h_bucket{le="1.0"} 2',
        'h_bucket{le="+Inf"} 3',
        "h_sum 5.300000",
        "h_count 3",
    ]


def test_the_text_has_every_figure_with_its_kind() -> None:
    metrics = Metrics()
    metrics.requests["/v1/audio/speech", 200] += 3
    metrics.underruns = 2
    metrics.first_audio.observe(0.04)
    text = metrics.text(STATUS, {"queue": 4})
    lines = text.splitlines()
    assert text.endswith("\n")
    for line in (
        "# TYPE voxcpm2_requests_total counter",
        'voxcpm2_requests_total{path="/v1/audio/speech",status="200"} 3',
        "voxcpm2_underruns_total 2",
        "voxcpm2_rows 2",
        "voxcpm2_pages 9",
        "voxcpm2_steps_total 77",
        "voxcpm2_queue 4",
        'voxcpm2_first_audio_seconds_bucket{le="0.05"} 1',
        "voxcpm2_real_time_factor_count 0",
    ):
        assert line in lines
    names = [line.split()[2] for line in lines if line.startswith("# TYPE")]
    assert len(names) == len(set(names))
