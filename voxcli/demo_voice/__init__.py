"""A small real checkpoint of VoxCPM2's architecture, so that the tool speaks on any machine.

`model/` is an ordinary checkpoint folder. How it was trained, from what and under which licences: `recipe/README.md`
in the repository.
"""

from pathlib import Path

FOLDER = Path(__file__).parent / "model"
