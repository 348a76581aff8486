from __future__ import annotations

from voxcli.diagnostics.breakdown import covered


def test_covered_counts_no_part_of_a_line_twice() -> None:
    assert covered([]) == 0
    assert covered([(5, 8), (0, 2)]) == 5
    assert covered([(0, 10), (2, 3), (9, 12), (12, 13)]) == 13
