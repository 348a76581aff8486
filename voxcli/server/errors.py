"""Errors as OpenAI's API reports them: a status code and a JSON object with one line for people."""

from __future__ import annotations

import math
from typing import Any

from voxcli.errors import InputError, ModelError, VoxError
from voxcli.terminal import one_line

__all__ = ["ApiError", "as_api_error", "too_busy"]

TYPES = {400: "invalid_request_error", 401: "authentication_error", 403: "permission_error", 404: "not_found_error"}
TYPES |= {405: "invalid_request_error", 409: "invalid_request_error", 413: "invalid_request_error"}
TYPES |= {408: "timeout_error", 429: "rate_limit_error", 503: "overloaded_error"}


class ApiError(VoxError):
    """An error with an HTTP status. param: the field it is about.  code: a word for programs."""

    def __init__(
        self, status: int, message: str, *, param: str | None = None, code: str | None = None, retry_s: float = 0.0
    ):
        super().__init__(one_line(message))
        self.status = status
        self.param = param
        self.code = code
        self.headers = {"retry-after": str(max(1, math.ceil(retry_s)))} if status in (429, 503) else {}
        if status == 401:
            self.headers["www-authenticate"] = 'Bearer realm="voxcpm2", Basic realm="voxcpm2"'

    def as_dict(self) -> dict[str, Any]:
        kind = TYPES.get(self.status, "server_error")
        return {"error": {"message": str(self), "type": kind, "param": self.param, "code": self.code}}


def too_busy(waiting: int, retry_s: float) -> ApiError:
    return ApiError(429, f"{waiting} requests are waiting already; try again later", code="busy", retry_s=retry_s)


def as_api_error(error: VoxError) -> ApiError:
    """Return the error with the status that tells whose fault it is: 400 the request's, 503 the model's, else 500."""
    if isinstance(error, ApiError):
        return error
    status = 400 if isinstance(error, InputError) else 503 if isinstance(error, ModelError) else 500
    return ApiError(status, str(error))
