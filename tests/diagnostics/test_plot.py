from __future__ import annotations

from pathlib import Path

import pytest

from voxcli.diagnostics.bench import BenchReport, Measurement
from voxcli.diagnostics.plot import check_plot, write_plot
from voxcli.errors import InputError, OutputError

pytest.importorskip("matplotlib")

ROW = Measurement(1, 10.0, 0.5, 0.6, 2.0, 0.1, None, None, None, 5.0, {"LocDiT": 6.0, "audio decode": 4.0})
REPORT = BenchReport("a model", "cpu", "2.13", 1, "float32", "torch", 25, 0.16, 50, 10, 2.0, 10.0, 1.0, (ROW,))


@pytest.mark.parametrize(
    ("name", "kind", "message"),
    [
        ("none/x.png", OutputError, "there is no folder"),
        ("deep.png", OutputError, "this is a folder"),
        ("x" * 300 + ".png", OutputError, "File name too long"),
        ("x.wav", InputError, "--plot writes .*png, .*, not 'x.wav'"),
    ],
)
def test_what_can_not_be_written_is_refused_before_the_work(
    tmp_path: Path, name: str, kind: type[Exception], message: str
) -> None:
    (tmp_path / "deep.png").mkdir()
    with pytest.raises(kind, match=message):
        check_plot(tmp_path / name)


def test_a_picture_takes_the_place_of_a_link_and_not_of_what_it_leads_to(tmp_path: Path) -> None:
    (tmp_path / "keep.txt").write_text("precious")
    (tmp_path / "bench.PNG").symlink_to("keep.txt")
    write_plot(REPORT, tmp_path / "bench.PNG")
    assert (tmp_path / "bench.PNG").read_bytes().startswith(b"\x89PNG") and not (tmp_path / "bench.PNG").is_symlink()
    assert (tmp_path / "keep.txt").read_text() == "precious"
