"""Find out which languages a run's model speaks, from its folder. Nothing is downloaded or loaded."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from voxcli.files.located import located
from voxcli.files.read import read_regular
from voxcli.model.hub import FULL_MODEL, HUB_ID, VARIABLE, cached_folder, defect, demo_folder
from voxcli.text.languages import VOXCPM2, language_names, language_tag
from voxcli.text.scripts import unknown_scripts

MODEL_CARD = "README.md"  # the Hugging Face model card; its header lists languages
MAX_CARD = 1 << 20  # bytes
_HEAD = re.compile(r"\A\ufeff?---[ \t\r]*\n(.*?)\n---[ \t\r]*(?:\n|\Z)", re.DOTALL)
_LANGUAGE = re.compile(r"^language:(.*(?:\n[ \t]*-[ \t].*)*)", re.MULTILINE)  # one, [several], or a list below


@dataclass(frozen=True)
class Speaker:
    """A model: its name in a sentence, and the tags of its languages."""

    name: str
    languages: frozenset[str]

    def foreign(self, text: str, languages: frozenset[str]) -> str | None:
        """Return a warning if the model does not speak the language of a text, else None.

        languages: possible languages of the text; empty if unknown.
        """
        if languages and languages.isdisjoint(self.languages):
            own = f" (it speaks {language_names(self.languages)})" if len(self.languages) <= 3 else ""
            named = f" {language_names(languages)}," if len(languages) <= 3 else ""
            return f"{self.name} does not speak{named} the language of this text{own}"
        scripts = unknown_scripts(text, self.languages)
        return f"{self.name} does not speak {', '.join(scripts)}" if scripts else None


FULL = Speaker("VoxCPM2", VOXCPM2)
DEMO = "the demo voice"


def speaker_of(named: str | None) -> Speaker:
    """Return the speaker of the model that `resolve_model` will choose, without loading it.

    A checkpoint that does not list languages is assumed to speak those of VoxCPM2.
    """
    named = named or os.environ.get(VARIABLE)
    if not named:
        full = cached_folder(FULL_MODEL)
        folder = demo_folder() if full is None or defect(full) else None
        return _speaker(DEMO, folder) if folder is not None else FULL
    if named == FULL_MODEL:
        return FULL
    path = located(named)
    if os.path.isdir(path):
        return _speaker(path.name or named, path)
    return _speaker(named, cached_folder(named) if HUB_ID.fullmatch(named) else None)


def _speaker(name: str, folder: Path | None) -> Speaker:
    return Speaker(name, (folder is not None and card_languages(folder)) or VOXCPM2)


def card_languages(folder: Path) -> frozenset[str]:
    """Return the known languages in the header of a model card; empty if there are none."""
    try:
        head = _HEAD.match(read_regular(folder / MODEL_CARD, MAX_CARD).decode())
    except (OSError, ValueError):
        return frozenset()
    found = _LANGUAGE.search(head[1]) if head else None
    words = re.findall(r"[A-Za-z][\w-]*", found[1]) if found else []
    return frozenset(filter(None, map(language_tag, words)))
