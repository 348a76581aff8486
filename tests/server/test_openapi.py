from __future__ import annotations

import json

from tests.server.servers import Served
from voxcli.server.openapi import _document
from voxcli.server.schema import BatchLine, SpeechRequest


def test_every_path_is_described(server: Served) -> None:
    document = json.loads(server.ask("GET", "/openapi.json").body)
    assert document["openapi"] == "3.1.0" and document == _document()
    for path, operations in document["paths"].items():
        for method in operations:
            filled = path.replace("{model}", "demo-voice").replace("{name}", "nobody")
            answer = server.ask(method.upper(), filled, None if method == "get" else b"")
            assert "nothing at this path" not in answer.body.decode("latin-1") and answer.status != 405


def test_bodies_are_those_that_are_read() -> None:
    schemas = _document()["components"]["schemas"]
    assert schemas["BatchLine"]["properties"].keys() == BatchLine.model_fields.keys()
    assert schemas["SpeechRequest"]["properties"].keys() == SpeechRequest.model_fields.keys() - {"format"}
    assert (
        schemas["SpeechRequest"]["required"] == ["input"] and schemas["SpeechRequest"]["additionalProperties"] is False
    )
