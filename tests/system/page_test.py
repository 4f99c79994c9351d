"""The page of `weft serve` in headless Chromium. WEFT_SCREENSHOTS names a folder for pictures of
it."""

import os
import pathlib
import unittest

from browser import Browser, found
from serve_support import ServeTest
from support import SANITIZED

RIGHT, TAB, ENTER, ESCAPE = "\ue014", "\ue004", "\ue007", "\ue00c"
ANSWERS = "document.querySelectorAll('#messages li.assistant')"
IDLE = "!document.querySelector('#send').disabled"


@unittest.skipUnless(found(), "this machine has no chromium, chromedriver or localhost")
@unittest.skipIf(SANITIZED, "the page is the same")
class PageTest(ServeTest):
    def page(self, *flags, dark=False, **kwargs):
        self.server = self.serve(*flags, **kwargs)
        browser = Browser(self.folder, dark)
        self.addCleanup(browser.close)
        browser.open(self.server.address + "/")
        browser.wait("document.querySelector('#health').textContent")
        return browser

    def shot(self, browser, name):
        folder = os.environ.get("WEFT_SCREENSHOTS")
        if folder:
            browser.screenshot(pathlib.Path(folder) / f"{name}.png")

    def fill(self, browser, name, value):
        browser.run("const e = document.querySelector(arguments[0]); e.value = arguments[1];",
                    name, str(value))

    def ask(self, browser, text):
        browser.type("#prompt", text + ENTER)
        browser.wait(f"{ANSWERS}.length")
        browser.wait(IDLE)

    def test_chat(self):
        browser = self.page()
        self.fill(browser, "[name=temperature]", 0)
        self.fill(browser, "[name=max_tokens]", 20)
        self.ask(browser, "Tell me a story about a fox.")
        text = browser.run(f"return {ANSWERS}[0].querySelector('.content').textContent")
        whole = self.server.post("/v1/chat/completions", {
            "messages": [{"role": "user", "content": "Tell me a story about a fox."}],
            "temperature": 0, "max_tokens": 20}).json["choices"][0]["message"]["content"]
        self.assertEqual(text, whole)
        browser.wait("document.querySelector('#speed').textContent.includes('tokens/s')")
        self.retries_and_edits(browser, whole)
        self.assertEqual(browser.errors(), [])
        self.shot(browser, "chat_light")

    def retries_and_edits(self, browser, text):
        browser.click("#messages li.assistant .actions button")  # Retry
        browser.wait(IDLE)
        self.assertEqual(browser.run(f"return {ANSWERS}.length"), 1)
        self.assertEqual(
            browser.run(f"return {ANSWERS}[0].querySelector('.content').textContent"), text)
        browser.click("#messages li.user .actions button")  # Edit
        browser.run("document.querySelector('#messages textarea').value = 'Tell me about a dog.'")
        browser.click("#messages form button")
        browser.wait(IDLE)
        self.assertEqual(browser.run("return document.querySelectorAll('#messages li').length"), 2)
        self.assertIn("dog", browser.run(
            "return document.querySelector('#messages li.user .content').textContent"))

    def test_stop(self):
        browser = self.page()
        browser.run("document.querySelector('[name=temperature]').value = 2;"
                    "document.querySelector('[name=max_tokens]').value = 900;")
        # The answer may be complete before another process sees it begin.
        browser.run("const stop = document.querySelector('#stop');"
                    "new MutationObserver(() => { if (!stop.disabled) window.begun = true; })"
                    ".observe(stop, {attributes: true});")
        browser.type("#prompt", "Tell me a story." + ENTER)
        browser.wait("window.begun")
        browser.press(ESCAPE)
        browser.wait(IDLE)
        self.assertEqual(browser.run("return document.querySelector('#notice').textContent"), "")

    def test_probabilities(self):
        browser = self.page(dark=True)
        browser.click("#logprobs")
        self.fill(browser, "[name=max_tokens]", 24)
        self.ask(browser, "Tell me a story about a fox named Pip.")
        browser.wait("document.querySelectorAll('.token').length > 3")
        browser.hover("#messages .token")
        shown = browser.wait("!document.querySelector('#tooltip').hidden && "
                             "document.querySelector('#tooltip').textContent")
        self.assertIn("%", shown)
        self.assertIn("›", shown)
        browser.run("document.querySelector('.assistant .content').focus()")
        browser.press(RIGHT, RIGHT)
        self.assertEqual(browser.run(
            "return [...document.querySelectorAll('.token')].findIndex("
            "t => t.classList.contains('current'))"), 1)
        self.assertEqual(browser.errors(), [])
        self.shot(browser, "chat_dark")

    def test_schema(self):
        browser = self.page()
        browser.run("document.querySelector('details').open = true")
        browser.type("#schema", '{"type": "object", "required": ["ok"], "properties": '
                                '{"ok": {"type": "boolean"}}, "additionalProperties": false}')
        self.ask(browser, "Are you well?")
        text = browser.run(f"return {ANSWERS}[0].querySelector('.content').textContent")
        self.assertRegex(text, r'^\s*\{\s*"ok"\s*:\s*(true|false)\s*\}\s*$')
        self.fill(browser, "#schema", "{")
        browser.type("#prompt", "Again?" + ENTER)
        browser.wait("document.querySelector('#schema-error').textContent")

    def test_views(self):
        for dark in (False, True):
            browser = self.page(dark=dark)
            name = "dark" if dark else "light"
            browser.wait("document.querySelector('#model').options.length")
            browser.run("document.querySelector('#tab-chat').focus()")
            browser.press(RIGHT)
            self.assertFalse(browser.run("return document.querySelector('#server').hidden"))
            browser.wait("document.querySelectorAll('#slots tbody tr').length === 2")
            self.shot(browser, f"server_{name}")
            browser.press(RIGHT)
            browser.wait("document.querySelectorAll('#graph-picture rect.box').length > 5")
            self.shot(browser, f"graph_{name}")
            browser.press(RIGHT)
            browser.wait("document.querySelector('#plan-picture img')?.naturalWidth > 100")
            self.shot(browser, f"plan_{name}")
            self.assertEqual(browser.errors(), [])
            back = browser.run("return getComputedStyle(document.body).backgroundColor")
            self.assertEqual(back == "rgb(255, 255, 255)", not dark)

    def test_key(self):
        browser = self.page("--api-key", "a-key", key="a-key")
        browser.wait("document.querySelector('#health').textContent.includes('key')")
        browser.type("#key", "a-key\t")
        browser.wait("document.querySelector('#model').options.length")

    def test_names_and_labels(self):
        """What screen readers announce: every control has a name, every id that is referred to
        exists."""
        browser = self.page()
        unnamed = browser.run("""
            return [...document.querySelectorAll('button, input:not([hidden]), select, textarea')]
              .filter(e => !(e.labels?.length || e.textContent.trim() || e.ariaLabel)).map(e => e.outerHTML)""")
        self.assertEqual(unnamed, [])
        missing = browser.run("""
            return ['aria-controls', 'aria-labelledby', 'aria-describedby', 'for'].flatMap(a =>
              [...document.querySelectorAll(`[${a}]`)].map(e => e.getAttribute(a))
                .filter(id => !document.getElementById(id)))""")
        self.assertEqual(missing, [])


if __name__ == "__main__":
    unittest.main()
