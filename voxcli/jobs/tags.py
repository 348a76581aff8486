"""Tags of a file: its title, its artist, and those that a command names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from voxcli.audio.formats import TAGS, tags_of
from voxcli.errors import InputError, quoted, shortened
from voxcli.jobs.job import Job
from voxcli.jobs.template import Template, parse_template
from voxcli.terminal import nearest, one_line
from voxcli.text.description import split_control

MAX_TITLE = 80  # characters of a text that is a title
MAX_TAG = 1_000


@dataclass(frozen=True)
class Tags:
    """The tags that a command names. Files that have any also have a title and an artist, unless these are empty."""

    templates: Mapping[str, Template]

    @property
    def fields(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(field for template in self.templates.values() for field in template.fields))

    def of(self, job: Job, values: Mapping[str, str]) -> dict[str, str]:
        """Return the tags of a job's file. values: fields of its line, by `field_key`.

        Raises InputError for a tag that the format of the file lacks.
        """
        known = tags_of(job.format)
        for name in self.templates:
            if name not in known:
                raise InputError(f"{job.format} files have no tag {quoted(name)}, only {', '.join(known)}")
        tags = {"title": _title(job, values), "artist": _artist(job)}
        tags |= {name: template.filled(values) for name, template in self.templates.items()}
        return {name: value for name, value in ((name, _clean(tag)) for name, tag in tags.items()) if value}


def parse_tags(named: Sequence[str]) -> Tags | None:
    """Parse the values of `--tag`: NAME=TEXT. None if there are none. Raises InputError."""
    templates: dict[str, Template] = {}
    for each in named:
        name, equals, text = each.partition("=")
        name = name.strip().lower()
        if not equals:
            raise InputError(f"--tag needs NAME=TEXT, such as album=Tales, not {quoted(each)}")
        if name not in TAGS:
            guess = nearest(name, TAGS)
            known = f"did you mean {guess}?" if guess else f"there are {', '.join(TAGS)}"
            raise InputError(f"--tag: no tag {quoted(name)}; {known}")
        if name in templates:
            raise InputError(f"--tag names {name} twice")
        templates[name] = parse_template(text, "--tag")
    return Tags(templates) if templates else None


def tags_of_whole(path: Path, jobs: Sequence[Job], format: str) -> dict[str, str]:
    """Return the tags of a joined file: those that all its files have in common, and its name as the title."""
    if not jobs or not jobs[0].tags:
        return {}
    common = {name: tag for name, tag in jobs[0].tags.items() if all(job.tags.get(name) == tag for job in jobs)}
    known = tags_of(format)
    return {"title": _clean(path.stem)} | {name: tag for name, tag in common.items() if name in known}


def _title(job: Job, values: Mapping[str, str]) -> str:
    return values.get("title") or shortened(one_line(split_control(job.text)[1]), MAX_TITLE)


def _artist(job: Job) -> str:
    """Return who speaks: the character, else the name of the voice."""
    return job.character or next((path.stem for path in job.voices), "")


def _clean(tag: str) -> str:
    return shortened(one_line(tag), MAX_TAG)
