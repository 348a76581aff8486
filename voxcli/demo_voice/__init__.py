"""A small real checkpoint of VoxCPM2's architecture, so that the tool speaks on any machine.

`model/` is an ordinary checkpoint folder. `recipe/README.md` in the repository describes its training, data and
licences.
"""

from pathlib import Path

FOLDER = Path(__file__).parent / "model"
