"""A voice that a program made from a recording."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from pathlib import Path

from voxcli.errors import OutputError
from voxcli.files.names import safe_name
from voxcli.files.write import make_folder, write_atomic
from voxcli.voices.store import SUFFIX, VoiceInfo, check_new


class Voice:
    """A recording, encoded once: pass it as `voice` as often as you like, in a call or in the rows of a batch.

    It is a voice file as `voxcpm2 voices add` makes it, in a temporary folder that is removed with this object.

    path: its file.
    info: its metadata: `seconds`, `text`, `notes` on how the recording was converted, ...
    """

    path: Path
    info: VoiceInfo

    def __init__(self, recording: Path):
        """Make a place for the voice of a recording. Raises OutputError."""
        try:
            folder = tempfile.mkdtemp(prefix="voxcpm2-voice-")
        except OSError as error:
            raise OutputError(f"can't create a temporary folder: {error.strerror or error}") from error
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        self.path = Path(folder, f"{safe_name(recording.stem)}{SUFFIX}")

    def save(self, name: str, *, replace: bool = False) -> Path:
        """Store it under a name, for `voice=name` here and `--voice NAME` of the commands. Returns its file.

        replace: a voice of that name may be replaced.

        Raises InputError when the name is invalid or taken, OutputError when the file can't be written.
        """
        path = check_new(name, replace, "replace=True")
        make_folder(path.parent)
        write_atomic(path, self.path.read_bytes())
        return path

    def __repr__(self) -> str:
        words = ", with its words" if self.info.text else ""
        return f"<Voice {self.info.recording}, {self.info.seconds:.1f} s{words}>"
