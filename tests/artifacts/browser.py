"""A headless Chromium, driven through chromedriver by the WebDriver protocol: JSON over HTTP, no library needed."""

from __future__ import annotations

import base64
import json
import re
import shutil
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any

DRIVER = shutil.which("chromedriver")
BROWSER = shutil.which("chromium") or shutil.which("google-chrome") or shutil.which("chromium-browser")
MISSING = "chromedriver and Chromium are not installed (Debian: chromium, chromium-driver)"


class Browser:
    """A browser window of `size` pixels, in light or dark mode."""

    def __init__(self, size: tuple[int, int] = (1400, 900), *, dark: bool = False):
        self.size = size
        self.dark = dark

    def __enter__(self) -> Browser:
        assert DRIVER and BROWSER, MISSING
        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self.process = subprocess.Popen(
            [DRIVER, "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        assert self.process.stdout is not None
        port = next(
            found[1] for line in self.process.stdout if (found := re.search(r"successfully on port (\d+)", line))
        )
        self.address = f"http://127.0.0.1:{port}/session"
        arguments = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--mute-audio"]
        arguments += ["--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream"]
        arguments += ["--hide-scrollbars", f"--user-data-dir={self.profile.name}"]
        arguments += [f"--window-size={self.size[0]},{self.size[1]}"]
        arguments += ["--blink-settings=preferredColorScheme=" + ("0" if self.dark else "1")]
        options = {"binary": BROWSER, "args": arguments}
        logs = {"browser": "ALL"}
        wanted = {"capabilities": {"alwaysMatch": {"goog:chromeOptions": options, "goog:loggingPrefs": logs}}}
        self.address += "/" + self._send("POST", "", wanted)["sessionId"]
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._send("DELETE", "")
        self.process.terminate()
        self.process.communicate()
        self.profile.cleanup()

    def open(self, path: Path) -> None:
        self._send("POST", "/url", {"url": path.absolute().as_uri()})

    def visit(self, url: str) -> None:
        self._send("POST", "/url", {"url": url})

    def resize(self, width: int, height: int) -> None:
        """Show the page as in a window of this size, or on a phone; a window itself has at least 500 pixels."""
        metrics = {"width": width, "height": height, "deviceScaleFactor": 2, "mobile": width < 500}
        self._cdp("Emulation.setDeviceMetricsOverride", **metrics)

    def allow_downloads(self, folder: Path) -> None:
        """Save downloads in `folder` without asking."""
        self._cdp("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(folder))

    def emulate_print(self, on: bool = True) -> None:
        """Show the page as it is printed."""
        self._cdp("Emulation.setEmulatedMedia", media="print" if on else "")

    def evaluate(self, expression: str) -> Any:
        """Return the value of an expression, also of a promise, whatever the page's policy allows."""
        found = self._cdp("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    @staticmethod
    def until(condition: Callable[[], bool], seconds: float = 10.0) -> None:
        """Wait until a condition outside the page is true."""
        end = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < end, "never true"
            time.sleep(0.02)

    def press(self, *keys: str) -> None:
        """Press keys one after another: characters, or W3C's code points such as "\ue004" for Tab."""
        events = [{"type": kind, "value": key} for key in keys for kind in ("keyDown", "keyUp")]
        self._send("POST", "/actions", {"actions": [{"type": "key", "id": "keyboard", "actions": events}]})

    def run(self, script: str) -> Any:
        """Run the body of a JavaScript function and return its value."""
        return self._send("POST", "/execute/sync", {"script": script, "args": []})

    def wait(self, expression: str, seconds: int = 30) -> None:
        """Wait until an expression is true, for at most `seconds`."""
        self._send("POST", "/timeouts", {"script": 1000 * (seconds + 10)})
        script = (
            f"const done = arguments[0], end = Date.now() + {1000 * seconds};"
            f"(function look() {{ if ({expression}) done(true); else if (Date.now() > end) done(false);"
            "else setTimeout(look, 20); })();"
        )
        assert self._send("POST", "/execute/async", {"script": script, "args": []}), f"never true: {expression}"

    def click(self, selector: str) -> None:
        """Click like a user, so that the page counts it as a user gesture."""
        found = self._send("POST", "/element", {"using": "css selector", "value": selector})
        self._send("POST", f"/element/{next(iter(found.values()))}/click", {})

    def type(self, selector: str, text: str) -> None:
        found = self._send("POST", "/element", {"using": "css selector", "value": selector})
        self._send("POST", f"/element/{next(iter(found.values()))}/value", {"text": text})

    def complaints(self) -> list[str]:
        """Return the messages in the console."""
        return [entry["message"] for entry in self._send("POST", "/se/log", {"type": "browser"})]

    def screenshot(self) -> bytes:
        return base64.b64decode(self._send("GET", "/screenshot"))

    def _cdp(self, command: str, **parameters: Any) -> Any:
        """Send a command of Chrome's DevTools protocol."""
        return self._send("POST", "/goog/cdp/execute", {"cmd": command, "params": parameters})

    def _send(self, method: str, path: str, data: dict[str, Any] | None = None) -> Any:
        body = None if data is None else json.dumps(data).encode()
        request = urllib.request.Request(self.address + path, body, {"Content-Type": "application/json"}, method=method)
        with urllib.request.urlopen(request, timeout=120) as answer:
            return json.load(answer)["value"]
