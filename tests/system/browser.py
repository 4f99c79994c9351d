"""Headless Chromium, driven by chromedriver (https://www.w3.org/TR/webdriver2/)."""

import base64
import json
import pathlib
import re
import shutil
import socket
import subprocess
import urllib.error
import urllib.request

from waiting import eventually

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
FLAGS = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
         "--disable-background-networking", "--disable-component-update", "--disable-sync",
         "--window-size=1280,900"]


def found():
    """Whether this machine has a browser to test with, which its driver finds by a name."""
    try:
        socket.getaddrinfo("localhost", 80)
    except OSError:
        return False
    return bool(shutil.which("chromedriver") and shutil.which("chromium"))


class Browser:
    def __init__(self, folder, dark=False):
        port = self.start_driver(pathlib.Path(folder) / f"driver{dark}.log")
        self.url = f"http://127.0.0.1:{port}/session"
        flags = FLAGS + [f"--user-data-dir={folder}/profile{dark}"]
        flags += ["--blink-settings=preferredColorScheme=0"] if dark else []
        session = self.call("POST", "", {"capabilities": {"alwaysMatch": {
            "goog:chromeOptions": {"args": flags},
            "goog:loggingPrefs": {"browser": "ALL"}}}})
        self.url += f"/{session['sessionId']}"

    def start_driver(self, log):
        """The port of the new self.driver. The driver takes a free port of IPv6 and leaves if
        another program holds that number for IPv4: then it is started again."""
        for _ in range(10):
            with open(log, "wb") as out:
                self.driver = subprocess.Popen(["chromedriver", "--port=0"], stdout=out, stderr=out)
            said = lambda: log.read_text("utf-8", "replace")
            started = lambda: re.search(r"successfully on port (\d+)", said())
            eventually(lambda: started() or self.driver.poll() is not None, said)
            if port := started():
                return port.group(1)
        raise AssertionError(f"chromedriver does not start: {said()}")

    def call(self, method, path, body=None):
        data = json.dumps(body).encode() if body is not None else None
        request = urllib.request.Request(self.url + path, data, method=method,
                                         headers={"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=120) as response:
                return json.load(response)["value"]
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{method} {path}: {error.read().decode()[:500]}") from None

    def open(self, url):
        self.call("POST", "/url", {"url": url})

    def run(self, script, *arguments):
        """The value of JavaScript that ends with a return."""
        return self.call("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def wait(self, script):
        """Waits until the expression is true."""
        return eventually(lambda: self.run(f"return {script}"), script)

    def find(self, selector):
        return self.call("POST", "/element", {"using": "css selector", "value": selector})[ELEMENT]

    def click(self, selector):
        self.call("POST", f"/element/{self.find(selector)}/click", {})

    def type(self, selector, text):
        self.call("POST", f"/element/{self.find(selector)}/value", {"text": text})

    def press(self, *keys):
        """Keys to the element that has the focus."""
        actions = [{"type": kind, "value": key} for key in keys for kind in ("keyDown", "keyUp")]
        self.call("POST", "/actions", {"actions": [
            {"type": "key", "id": "keyboard", "actions": actions}]})

    def hover(self, selector):
        self.call("POST", "/actions", {"actions": [{"type": "pointer", "id": "mouse", "actions": [
            {"type": "pointerMove", "duration": 0, "x": 0, "y": 0,
             "origin": {ELEMENT: self.find(selector)}}]}]})

    def errors(self):
        """What the console has said since the last call, except for answers that were refused."""
        entries = self.call("POST", "/se/log", {"type": "browser"})
        return [e["message"] for e in entries if e["level"] == "SEVERE" and e["source"] != "network"]

    def screenshot(self, path):
        pathlib.Path(path).write_bytes(base64.b64decode(self.call("GET", "/screenshot")))

    def close(self):
        try:
            self.call("DELETE", "")
        finally:
            self.driver.terminate()
            self.driver.wait()
