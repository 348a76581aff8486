"""The page at `/`: one file, which may load nothing else and run nothing but its own script."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib import resources

from starlette.requests import Request
from starlette.responses import Response

FILE = "page.html"


async def page(request: Request) -> Response:
    text, policy = _page()
    headers = {"content-security-policy": policy, "x-content-type-options": "nosniff", "referrer-policy": "no-referrer"}
    return Response(text, media_type="text/html", headers=headers)


@cache
def _page() -> tuple[str, str]:
    """The page and the policy that allows its own script and style, by their hashes."""
    text = (resources.files("voxcli.server") / FILE).read_text(encoding="utf-8")
    script, style = (_hashes(text, tag) for tag in ("script", "style"))
    allowed = f"script-src {script}; style-src {style}; connect-src 'self'; img-src data:; media-src blob:"
    return text, f"default-src 'none'; {allowed}; form-action 'none'; frame-ancestors 'none'; base-uri 'none'"


def _hashes(text: str, tag: str) -> str:
    inside = [part.partition(f"</{tag}>")[0] for part in text.split(f"<{tag}>")[1:]]
    digests = (base64.b64encode(hashlib.sha256(part.encode()).digest()).decode() for part in inside)
    return " ".join(f"'sha256-{digest}'" for digest in digests)
