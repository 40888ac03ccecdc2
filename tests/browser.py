"""A headless browser for tests, driven over its debugging pipe: no driver, no sockets, no packages."""

from __future__ import annotations

import base64
import itertools
import json
import os
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

PROGRAM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking"
    " --disable-component-update --disable-sync --disable-dev-shm-usage --hide-scrollbars --force-color-profile=srgb"
)
#: Shells differ in the descriptors that they can move.
_LAUNCH = """
import os, sys
ends = [os.dup(int(end)) for end in sys.argv[1:3]]
while min(ends) < 5:
    ends = [os.dup(end) for end in ends]
os.dup2(ends[0], 3), os.dup2(ends[1], 4)
os.execv(sys.argv[3], sys.argv[3:])
"""


class Browser:
    """One tab."""

    def __init__(self, profile: Path, *, timeout: float = 60) -> None:
        assert PROGRAM is not None
        self._timeout = timeout
        here_read, their_write = os.pipe()
        their_read, here_write = os.pipe()
        # The browser reads commands from descriptor 3 and writes to 4.
        run = [PROGRAM, *FLAGS.split(), "--remote-debugging-pipe", f"--user-data-dir={profile}", "about:blank"]
        self._process = subprocess.Popen(
            [sys.executable, "-c", _LAUNCH, str(their_read), str(their_write), *run],
            pass_fds=(their_read, their_write),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(their_read)
        os.close(their_write)
        self._out, self._in, self._buffer = here_write, here_read, b""
        self._numbers = itertools.count(1)
        self.events: list[dict[str, Any]] = []
        self._session: str | None = None
        try:
            self._attach()
        except BaseException:
            self.close()
            raise

    def _attach(self) -> None:
        targets = self._until(lambda: self.call("Target.getTargets")["targetInfos"])
        tab = next(target["targetId"] for target in targets if target["type"] == "page")
        self._session = self.call("Target.attachToTarget", targetId=tab, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")

    def close(self) -> None:
        self._session = None
        try:
            self.call("Browser.close")
            self._process.wait(20)
        except Exception:
            self._process.kill()
            self._process.wait()
        os.close(self._out)
        os.close(self._in)

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        number = next(self._numbers)
        message: dict[str, Any] = {"id": number, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        self._send(json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return dict(answer["result"])
            self.events.append(answer)

    def _send(self, data: bytes) -> None:
        while data:
            data = data[os.write(self._out, data) :]

    def _next(self) -> dict[str, Any]:
        end = time.monotonic() + self._timeout
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._in], [], [], max(0, end - time.monotonic()))
            chunk = os.read(self._in, 1 << 20) if ready else b""
            if not chunk:
                raise TimeoutError("the browser does not answer")
            self._buffer += chunk
        message, _, self._buffer = self._buffer.partition(b"\0")
        return dict(json.loads(message))

    def _until(self, what: Any) -> Any:
        end = time.monotonic() + self._timeout
        while not (found := what()):
            if time.monotonic() > end:
                raise TimeoutError("waited in vain")
            time.sleep(0.05)
        return found

    # -- what tests do

    def run(self, code: str) -> Any:
        """Evaluate an expression in the page (promises are awaited) and return its value."""
        out = self.call("Runtime.evaluate", expression=code, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in out:
            raise RuntimeError(out["exceptionDetails"].get("exception", out["exceptionDetails"]))
        return out["result"].get("value")

    def open(self, path: Path, fragment: str = "") -> None:
        """Open a file and wait until it is loaded."""
        self.call("Page.navigate", url="about:blank")
        self._until(lambda: self.run("location.href === 'about:blank' && document.readyState === 'complete'"))
        self.events.clear()
        self.call("Page.navigate", url=path.resolve().as_uri() + (f"#{fragment}" if fragment else ""))
        self._until(lambda: self.run("location.href !== 'about:blank' && document.readyState === 'complete'"))

    def wait(self, condition: str) -> None:
        """Wait until an expression is true."""
        self._until(lambda: self.run(condition))

    def frame(self, code: str) -> Any:
        """Evaluate an expression in the frame of its own process inside the page."""
        targets = self._until(
            lambda: [t for t in self.call("Target.getTargets")["targetInfos"] if t["type"] == "iframe"]
        )
        session = self._session
        self._session = self.call("Target.attachToTarget", targetId=targets[0]["targetId"], flatten=True)["sessionId"]
        try:
            return self.run(code)
        finally:
            self._session = session

    def press(self, key: str) -> None:
        """Press a key."""
        text = {"text": key} if len(key) == 1 else {}
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, **text)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key)

    def requests(self) -> list[str]:
        """Return the addresses that the page asked for since it was opened."""
        return [e["params"]["request"]["url"] for e in self.events if e["method"] == "Network.requestWillBeSent"]

    def errors(self) -> list[Any]:
        """Return what the console holds of exceptions and errors."""
        self.run("0")
        return [
            event["params"]
            for event in self.events
            if event["method"] == "Runtime.exceptionThrown"
            or (event["method"] == "Log.entryAdded" and event["params"]["entry"]["level"] == "error")
        ]

    def look(self, width: int = 1280, height: int = 900, *, dark: bool = False, media: str = "screen") -> None:
        """Set the window and what the user prefers."""
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 500
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", media=media, features=[scheme])

    def picture(self, path: Path | None = None) -> bytes:
        """Return what the window shows as PNG."""
        data = base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"])
        if path is not None:
            path.write_bytes(data)
        return data
