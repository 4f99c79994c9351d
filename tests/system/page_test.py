"""The page of `weft serve` in headless Chromium. WEFT_SCREENSHOTS names a folder for pictures of
it."""

import json
import os
import pathlib
import shutil
import unittest

from browser import Browser, found
from serve_support import ServeTest
from support import MODEL, SANITIZED

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

    def test_an_empty_conversation_says_what_to_do(self):
        browser = self.page()
        shown = "return getComputedStyle(document.querySelector('#empty')).display !== 'none'"
        self.assertTrue(browser.run(shown))
        self.shot(browser, "chat_empty")
        self.fill(browser, "[name=max_tokens]", 4)
        self.ask(browser, "Hello.")
        self.assertFalse(browser.run(shown))
        browser.click("#clear")
        self.assertTrue(browser.run(shown))

    def test_empty_fields_show_the_defaults(self):
        browser = self.page("--temp", "0.3", "--top-k", "7")
        grey = lambda name: f"document.querySelector('[name={name}]').placeholder"
        browser.wait(grey("temperature"))
        values = [browser.run("return " + grey(name)) for name in
                  ("temperature", "top_k", "max_tokens", "seed")]
        self.assertEqual(values, ["0.3", "7", "no limit", "random"])
        self.assertEqual(browser.errors(), [])

    def test_the_defaults_of_a_model_appear_with_its_first_answer(self):
        folder = self.folder / "models"
        folder.mkdir()
        shutil.copy(MODEL, folder / "one.gguf")
        browser = self.page("--models-dir", folder, model=None)
        browser.wait("document.querySelector('#model').options.length")
        grey = "document.querySelector('[name=top_k]').placeholder"
        self.assertEqual(browser.run(f"return {grey}"), "")
        self.assertEqual(self.server.get("/v1/models").json["data"][0]["status"]["value"], "unloaded")
        self.fill(browser, "[name=max_tokens]", 4)
        self.ask(browser, "Hello.")
        browser.wait(grey)

    def test_attachments(self):
        browser = self.page()
        names = "return [...document.querySelectorAll('#attachments li')].map(e => e.firstChild.textContent)"
        note, data, large = (self.folder / name for name in ("note.txt", "data.bin", "large.txt"))
        note.write_text("The fox is called Pip.")
        data.write_bytes(b"a\0b")
        large.write_bytes(b"a" * ((1 << 20) + 1))
        for file, message in ((data, "not a text file"), (large, "larger than 1 MiB")):
            browser.type("#files", str(file))
            browser.wait(f"document.querySelector('#notice').textContent.includes('{message}')")
        self.assertEqual(browser.run(names), [])
        browser.type("#files", str(note))
        browser.wait("document.querySelectorAll('#attachments li').length")
        browser.click("#attachments button")  # Remove
        self.assertEqual(browser.run(names), [])
        browser.type("#files", str(note))
        browser.wait("document.querySelectorAll('#attachments li').length")
        self.assertEqual(browser.run(names), ["note.txt"])
        browser.run("window.sent = []; const real = fetch;"
                    "window.fetch = (path, o) => { if (o?.body) sent.push(JSON.parse(o.body)); return real(path, o); };")
        self.fill(browser, "[name=max_tokens]", 4)
        self.ask(browser, "Who is it?")
        self.assertEqual(browser.run("return sent[0].messages"), [{
            "role": "user",
            "content": "File note.txt:\n```\nThe fox is called Pip.\n```\n\nWho is it?"}])
        self.assertEqual(browser.run(names), [])

    def test_pictures_fit_the_width(self):
        browser = self.page()
        browser.wait("document.querySelector('#model').options.length")
        for tab, picture in (("graph", "svg"), ("plan", "img")):
            browser.click(f"#tab-{tab}")
            browser.wait(f"document.querySelector('#{tab}-picture {picture}')?.getBoundingClientRect().width > 100")
            self.assertEqual(browser.run(
                f"const p = document.querySelector('#{tab}-picture');"
                "p.style.width = '300px'; return p.scrollWidth - p.clientWidth;"), 0)

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

    def test_hostile_texts(self):
        """Names, prompts, files and answers are texts: nothing of them becomes a part of the page."""
        html = "<img src=x onerror=window.hacked=1><script>window.hacked=1</script>"
        browser = self.page("--alias", html)
        browser.wait("document.querySelector('#model').options.length")
        file = self.folder / "<img src=x onerror=hacked=1>.txt"
        file.write_text(html)
        browser.type("#files", str(file))
        browser.wait("document.querySelectorAll('#attachments li').length")
        self.fill(browser, "[name=max_tokens]", 200)
        self.fill(browser, "#schema", json.dumps({"const": html}))
        self.ask(browser, html)
        self.assertIn("onerror", browser.run(
            f"return {ANSWERS}[0].querySelector('.content').textContent"))
        for tab in ("server", "graph", "plan"):
            browser.click(f"#tab-{tab}")
        browser.wait("document.querySelector('#plan-picture img')?.naturalWidth > 100")
        self.assertEqual(browser.run("return document.querySelectorAll('img[onerror]').length"), 0)
        self.assertIsNone(browser.run("return window.hacked ?? null"))
        self.assertEqual(browser.errors(), [])

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
