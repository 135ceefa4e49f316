"""Chromium without a window, asked over a pipe in its own protocol: no driver and no library besides Python's own."""

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
PATIENCE_SECONDS = 60.0


def find() -> Optional[str]:
    """Where a browser is, if there is one."""
    return next((path for path in map(shutil.which, NAMES) if path), None)


class Browser:
    """A browser with one page; to be used in a `with`."""

    def __init__(self, program: str) -> None:
        self._profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        to_browser, self._out = os.pipe()
        self._in, from_browser = os.pipe()
        # The protocol's pipes are the descriptors 3 and 4, by Chromium's rule.
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
        self._process.wait(timeout=PATIENCE_SECONDS)
        os.close(self._in)
        os.close(self._out)
        self._profile.cleanup()

    def call(self, method: str, **params: Any) -> dict:
        """Calls a method of the protocol and waits for its result; events meanwhile are kept."""
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
        deadline = time.monotonic() + PATIENCE_SECONDS
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._in], [], [], max(0.0, deadline - time.monotonic()))
            if not ready:
                raise TimeoutError("the browser does not answer")
            piece = os.read(self._in, 1 << 16)
            if not piece:
                raise EOFError("the browser has ended")
            self._rest += piece
        message, self._rest = self._rest.split(b"\0", 1)
        return json.loads(message)

    def show(self, page: Path, width: int, dark: bool = False, media: str = "screen") -> None:
        """Loads a page in a window of that width and waits until it is drawn."""
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
        """The addresses that the page asked for since it was loaded, itself included."""
        sent = [each for each in self.events if each.get("method") == "Network.requestWillBeSent"]
        return [each["params"]["request"]["url"] for each in sent]

    def complaints(self) -> list:
        """What the browser had to say about the page: errors, and what its policy forbade."""
        logged = [each for each in self.events if each.get("method") == "Log.entryAdded"]
        return [each["params"]["entry"]["text"] for each in logged]

    def value(self, expression: str) -> Any:
        """The value of a JavaScript expression in the page."""
        result = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in result:
            raise RuntimeError(f"{expression}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def picture(self, to: Path) -> None:
        """Saves the whole page as PNG."""
        shot = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True)
        to.write_bytes(base64.b64decode(shot["data"]))

    def pdf(self) -> bytes:
        """The page as it would be printed."""
        return base64.b64decode(self.call("Page.printToPDF", printBackground=False)["data"])
