"""Read a YAML file written by a person. Anything else is reported in one line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from voxcli.errors import InputError, quoted, reason_of, shortened
from voxcli.files.read import read_regular

MAX_BYTES = 1 << 20
MAX_DEPTH = 100  # nesting of lists and mappings; the limit of Python itself differs by version
MAX_DIGITS = 100  # 1:1:1:... is a number to the base of 60; with many digits it takes minutes


def read_yaml(path: Path, what: str) -> Any:
    """Return the content of a file; None if it is empty. what: its name in messages. Raises InputError."""
    try:
        data = read_regular(path, MAX_BYTES)
    except OSError as error:
        raise InputError(f"can't read {what} {path}: {error.strerror or error}") from error
    try:
        return yaml.load(data.decode("utf-8-sig"), _Loader)
    # The library checks the form of a value by its tag and its first characters, and fails on invalid ones.
    except (
        yaml.YAMLError,
        ValueError,
        ArithmeticError,
        LookupError,
        AttributeError,
        TypeError,
        RecursionError,
    ) as error:
        reason = shortened(reason_of(error), 300)
        if isinstance(error, RecursionError):
            reason = "nested too deeply"
        raise InputError(f"{what} {path} is not YAML that can be used: {reason}") from error


class _Loader(yaml.SafeLoader):
    """A loader without aliases, by which a few lines can fill all memory, and with limits of depth and digits."""

    _depth = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        event: Any = self.peek_event()  # type: ignore[no-untyped-call]
        if self.check_event(yaml.AliasEvent):
            raise yaml.MarkedYAMLError(None, None, f"*{event.anchor}: aliases are not used here", event.start_mark)
        if self._depth == MAX_DEPTH:
            raise yaml.MarkedYAMLError(None, None, "nested too deeply", event.start_mark)
        self._depth += 1
        try:
            return super().compose_node(parent, index)
        finally:
            self._depth -= 1

    def construct_mapping(self, node: Any, deep: bool = False) -> Any:
        """Refuse a key that stands twice: the last value would win silently."""
        first: dict[str, int] = {}
        for key, _ in node.value if isinstance(node, yaml.MappingNode) else ():
            if not isinstance(key, yaml.ScalarNode):
                continue
            line = key.start_mark.line + 1
            if key.value in first:
                raise _Twice(f"line {line}: {quoted(key.value)} stands twice, first in line {first[key.value]}")
            first[key.value] = line
        return super().construct_mapping(node, deep)


class _Twice(yaml.YAMLError):
    """A key stands twice in a mapping."""


def _int(loader: yaml.SafeLoader, node: Any) -> int:
    return loader.construct_yaml_int(_short(node))


def _float(loader: yaml.SafeLoader, node: Any) -> float:
    return loader.construct_yaml_float(_short(node))


def _text(loader: yaml.SafeLoader, node: Any) -> str:
    text: str = loader.construct_scalar(node)
    text.encode()  # half of a surrogate pair is no character
    return text


def _short(node: Any) -> Any:
    if len(node.value) > MAX_DIGITS:
        raise yaml.MarkedYAMLError(None, None, "a number of too many digits", node.start_mark)
    return node


_Loader.add_constructor("tag:yaml.org,2002:int", _int)
_Loader.add_constructor("tag:yaml.org,2002:float", _float)
_Loader.add_constructor("tag:yaml.org,2002:str", _text)
