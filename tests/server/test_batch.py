from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from tests.server.servers import SENTENCE, Served
from tests.server.test_app import create
from voxcli.server.batch import MAX_LINES, read_lines
from voxcli.server.errors import ApiError


def send(server: Served, *lines: Any) -> dict[str, dict[str, Any]]:
    body = "\n".join(json.dumps(line) for line in lines).encode()
    answer = server.ask("POST", "/v1/audio/speech/batch", body)
    assert (answer.status, answer.headers["content-type"]) == (200, "application/jsonl")
    return {found["id"]: found for found in map(json.loads, answer.body.splitlines())}


def test_each_line_gives_its_result_and_its_audio(server: Served) -> None:
    found = send(
        server,
        {"text": SENTENCE, "seed": 7},
        {"id": "two", "text": "Two.", "seed": 5, "format": "flac"},
        {"id": "bad", "text": "..."},
        {"id": "nobody", "text": "Hi", "voice": "nobody"},
    )
    assert found.keys() == {"1", "two", "bad", "nobody"}
    assert base64.b64decode(found["1"]["audio"]) == create(server, SENTENCE, seed=7)
    assert base64.b64decode(found["two"]["audio"]) == create(server, "Two.", "flac", seed=5)
    one = found["1"]
    assert (one["status"], one["seed"], one["exact"], one["stop_reason"]) == ("ok", 7, True, "stop")
    assert one["cues"] == [[0.0, one["duration_s"], SENTENCE]]
    assert found["bad"]["error"] == "the text has nothing to speak: no letter and no digit"
    assert found["nobody"]["status"] == "failed" and "no voice 'nobody'" in found["nobody"]["error"]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "there are no lines"),
        (b'{"text": "a"}\n{"text": 5}', "line 2: text: input should be a valid string, not 5"),
        (b'{"text": "a", "ref": "/etc/passwd"}', "line 1: unknown field 'ref'"),
        (b'{"text": "a", "out": "/tmp/x"}', "line 1: unknown field 'out'"),
        (b'{"text": "a", "id": "2"}\n{"text": "b"}', "line 2: there is an id '2' already"),
        (b'{"text": "a"}\n' * (MAX_LINES + 1), "more than 1,000 lines; send them in several requests"),
    ],
    ids=["none", "type", "ref", "out", "ids", "many"],
)
def test_a_batch_is_refused_before_it_begins(body: bytes, message: str) -> None:
    with pytest.raises(ApiError) as caught:
        read_lines(body)
    assert caught.value.status == 400 and str(caught.value).startswith(message)
