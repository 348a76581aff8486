"""The description of the API for programs, OpenAPI 3.1: made from the models that read the requests."""

from __future__ import annotations

from functools import cache
from typing import Any

from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from voxcli.server.batch import MEDIA_TYPE
from voxcli.server.schema import RESPONSE_FORMATS, BatchLine, SpeechRequest, content_type

REFERENCE = "#/components/schemas/{model}"
ERROR = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["message", "type", "param", "code"],
            "properties": {
                "message": {"type": "string"},
                "type": {"type": "string"},
                "param": {"type": ["string", "null"]},
                "code": {"type": ["string", "null"]},
            },
        }
    },
}
UPLOAD = {
    "type": "object",
    "required": ["name", "audio_sample"],
    "properties": {
        "name": {"type": "string"},
        "audio_sample": {"type": "string", "contentMediaType": "application/octet-stream"},
        "ref_text": {"type": "string"},
    },
}
AUDIO = (*dict.fromkeys(content_type(name, None) for name in RESPONSE_FORMATS), "text/event-stream")
BINARY: dict[str, Any] = {"type": "string"}


async def openapi(request: Request) -> Response:
    return JSONResponse(_document())


@cache
def _document() -> dict[str, Any]:
    schemas: dict[str, Any] = {"Error": ERROR, "Upload": UPLOAD}
    speech, line = _schema(SpeechRequest, schemas), _schema(BatchLine, schemas)
    del schemas["SpeechRequest"]["properties"]["format"]  # of a manifest; here it is response_format
    name = {"name": "name", "in": "path", "required": True, "schema": {"type": "string"}}
    model = {"name": "model", "in": "path", "required": True, "schema": {"type": "string"}}
    audio = {media_type: {"schema": BINARY} for media_type in AUDIO}
    paths = {
        "/": {"get": _operation("The page", {"text/html": {"schema": BINARY}})},
        "/health": {"get": _operation("Whether the server lives")},
        "/ready": {"get": _operation("Whether it takes requests")},
        "/queue": {"get": _operation("How much there is to do")},
        "/metrics": {"get": _operation("Figures for Prometheus", {"text/plain": {"schema": BINARY}})},
        "/v1/models": {"get": _operation("The model")},
        "/v1/models/{model}": {"get": {**_operation("One model"), "parameters": [model]}},
        "/v1/audio/speech": {"post": {**_operation("Speak a text", audio), **_body("application/json", speech)}},
        "/v1/audio/speech/batch": {
            "post": {**_operation("Speak many texts", {MEDIA_TYPE: {"schema": BINARY}}), **_body(MEDIA_TYPE, line)}
        },
        "/v1/audio/voices": {
            "get": _operation("The stored voices"),
            "post": {
                **_operation("Store a voice", status="201"),
                **_body("multipart/form-data", {"$ref": "#/components/schemas/Upload"}),
            },
        },
        "/v1/audio/voices/{name}": {"delete": {**_operation("Delete a voice"), "parameters": [name]}},
    }
    return {
        "openapi": "3.1.0",
        "info": {"title": "voxcpm2", "version": "1"},
        "paths": paths,
        "components": {"schemas": schemas},
    }


def _schema(model: type[BaseModel], schemas: dict[str, Any]) -> dict[str, Any]:
    """Add a model and what it refers to; return a reference to it."""
    found = model.model_json_schema(ref_template=REFERENCE)
    schemas.update(found.pop("$defs", {}))
    schemas[model.__name__] = found
    return {"$ref": REFERENCE.format(model=model.__name__)}


def _operation(summary: str, content: dict[str, Any] | None = None, *, status: str = "200") -> dict[str, Any]:
    content = content or {"application/json": {"schema": {"type": "object"}}}
    error = {
        "description": "An error",
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}},
    }
    return {"summary": summary, "responses": {status: {"description": "Done", "content": content}, "default": error}}


def _body(media_type: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"requestBody": {"required": True, "content": {media_type: {"schema": schema}}}}
