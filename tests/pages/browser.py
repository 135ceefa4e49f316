"""Controls a headless Chromium over a pipe by the DevTools protocol, with the standard library only."""

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any, Optional

NAMES = ("chromium", "chromium-browser", "google-chrome")
TIMEOUT_SECONDS = 300.0


def find() -> Optional[str]:
    """Returns the path of an installed browser, or None."""
    return next((path for path in map(shutil.which, NAMES) if path), None)


class Browser:
    """A browser with one page; a context manager."""

    def __init__(self, program: str) -> None:
        self._profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        to_browser, self._out = os.pipe()
        self._in, from_browser = os.pipe()
        # Chromium expects the protocol's pipes as descriptors 3 and 4.
        script = f'exec "$@" 3<&{to_browser} 4>&{from_browser}'
        options = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--disable-background-networking",
                   "--no-first-run", f"--user-data-dir={self._profile.name}", "--remote-debugging-pipe", "about:blank"]
        self._process = subprocess.Popen(
            ["bash", "-c", script, "bash", program, *options], pass_fds=(to_browser, from_browser),
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_browser)
        os.close(from_browser)
        self._number, self._rest, self._session = 0, b"", None
        self.events: list = []

    def __enter__(self) -> "Browser":
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Network", "Runtime", "Log"):
            self.call(f"{domain}.enable")
        return self

    def __exit__(self, *_: Any) -> None:
        self._session = None
        try:
            self.call("Browser.close")
        except (OSError, EOFError, TimeoutError):
            self._process.kill()
        self._process.wait(timeout=TIMEOUT_SECONDS)
        os.close(self._in)
        os.close(self._out)
        self._profile.cleanup()

    def call(self, method: str, **params: Any) -> dict:
        """Calls a protocol method and returns its result. Events that arrive before the result are stored."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)

    def _next(self) -> dict:
        deadline = time.monotonic() + TIMEOUT_SECONDS
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._in], [], [], max(0.0, deadline - time.monotonic()))
            if not ready:
                raise TimeoutError("timeout: no answer from the browser")
            piece = os.read(self._in, 1 << 16)
            if not piece:
                raise EOFError("the browser closed its pipe")
            self._rest += piece
        message, self._rest = self._rest.split(b"\0", 1)
        return json.loads(message)

    def show(self, page: Path, width: int, dark: bool = False, media: str = "screen") -> None:
        """Loads a page in a window of `width` pixels and waits until it is drawn."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=width < 600)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", media=media, features=[scheme])
        self.events.clear()
        self.call("Page.navigate", url=page.resolve().as_uri())
        self._until("Page.loadEventFired")
        self.value("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))")

    def _until(self, event: str) -> None:
        while not any(each.get("method") == event for each in self.events):
            self.events.append(self._next())

    def requests(self) -> list:
        """Returns the URLs requested since the page was loaded, including its own."""
        sent = [each for each in self.events if each.get("method") == "Network.requestWillBeSent"]
        return [each["params"]["request"]["url"] for each in sent]

    def complaints(self) -> list:
        """Returns the browser's log messages: errors, and requests that the content policy blocked."""
        logged = [each for each in self.events if each.get("method") == "Log.entryAdded"]
        return [each["params"]["entry"]["text"] for each in logged]

    def value(self, expression: str) -> Any:
        """Evaluates a JavaScript expression in the page and returns its value. Raises RuntimeError on an exception."""
        result = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in result:
            raise RuntimeError(f"{expression}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def picture(self, to: Path) -> None:
        """Saves the whole page as PNG."""
        shot = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True)
        to.write_bytes(base64.b64decode(shot["data"]))

    def pdf(self) -> bytes:
        """Returns the page as a PDF."""
        return base64.b64decode(self.call("Page.printToPDF", printBackground=False)["data"])
