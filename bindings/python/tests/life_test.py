"""The life of a process: Ctrl-C, forks, threads, and the end of the interpreter."""

import os
import pathlib
import signal
import subprocess
import sys
import textwrap
import threading
import unittest

try:
    import numpy as np
except ImportError:
    print("numpy is not installed")
    sys.exit(77)

import weft

sys.path.insert(0, str(pathlib.Path(os.environ["WEFT_SOURCE"]) / "tests/system"))
from running import ctrl_c_ends, is_busy  # noqa: E402
from waiting import PATIENCE, eventually  # noqa: E402

GREEDY = weft.Sampler(temperature=0)


HERE = pathlib.Path(__file__).parent
PRELUDE = f"import sys; sys.path.insert(0, {str(HERE)!r})\nfrom running import ctrl_c_ends, eventually, is_busy\n"


def script(code, **options):
    """Runs a program; gives its exit code and output."""
    r = subprocess.run([sys.executable, "-c", PRELUDE + textwrap.dedent(code)], capture_output=True, text=True,
                       timeout=PATIENCE, check=False, **options)
    return r.returncode, r.stdout, r.stderr


class Interrupts(unittest.TestCase):
    def setUp(self):
        self.session = weft.Model().session(context=4096)
        self.ids = list(range(5, 1000))

    def test_ctrl_c_ends_a_call(self):
        def texts():
            while True:
                self.session.generate("Once", max_tokens=3000, sampler=GREEDY)

        def prompts():
            while True:
                self.session.truncate(0)
                self.session.feed(self.ids * 4)

        def proofs():
            while True:
                weft.Model().verify()

        def checks():
            while True:
                weft.new_model_check("llama")
        with self.assertRaises(KeyboardInterrupt):
            threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT)).start()
            texts()
        for work, call in ((prompts, "feed"), (proofs, "verify_model"), (checks, "check_new_model")):
            # It may come when the call has just computed everything.
            self.assertTrue(any(ctrl_c_ends(work, call) for _ in range(5)), call)
        self.session.truncate(0)
        want = weft.Model().session(context=64).feed([5, 6]).copy()
        self.assertTrue(np.array_equal(self.session.feed([5, 6]), want))

    def test_what_a_handler_raises_comes_out(self):
        class Enough(Exception):
            pass

        def stop(number, frame):
            raise Enough
        old = signal.signal(signal.SIGALRM, stop)
        self.addCleanup(signal.signal, signal.SIGALRM, old)
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        with self.assertRaises(Enough):
            while True:
                self.session.generate("Once", max_tokens=3000, sampler=GREEDY)

    def test_after_an_import_on_another_thread(self):
        code, out, err = script("""
            import threading

            def load():
                global weft
                import weft
            thread = threading.Thread(target=load)
            thread.start()
            thread.join()
            session = weft.Model().session(context=4096, prefill_width=8)

            def prompts():
                while True:
                    session.truncate(0)
                    session.feed(list(range(5, 2000)) * 2)
            print(any(ctrl_c_ends(prompts, "feed") for _ in range(5)))
        """)
        self.assertEqual((code, out, err), (0, "True\n", ""))


class Forks(unittest.TestCase):
    def test_a_child_computes_or_is_told_why_not(self):
        code, out, err = script("""
            import os, signal, sys
            import weft
            model = weft.Model()
            session = model.session(context=256)
            want = session.generate("Once", max_tokens=20, sampler=weft.Sampler(temperature=0))
            child = os.fork()
            if child == 0:
                signal.alarm(200)  # a child that hangs ends with a signal
                said = []
                for make in (lambda: session, lambda: model.session(context=256),
                             lambda: weft.Model().session(context=256)):
                    try:
                        text = make().generate("Once", max_tokens=20, sampler=weft.Sampler(temperature=0))
                        said.append("same" if text == want else "other")
                    except weft.Error as e:
                        said.append(type(e).__name__)
                print(*said, flush=True)
                os._exit(0)
            _, status = os.waitpid(child, 0)
            again = session.generate("Once", max_tokens=20, sampler=weft.Sampler(temperature=0))
            print(status, again == want)
        """)
        self.assertEqual((code, err), (0, ""))
        said = out.split()
        self.assertEqual(said[-2:], ["0", "True"])
        self.assertEqual(len(said), 5)
        self.assertLessEqual(set(said[:3]), {"same", "ForkedError"})


class Ends(unittest.TestCase):
    """At exit nothing is printed, nothing waits for a computation."""

    def ends(self, code, want=0):
        """The threads compute forever: whoever waits for them does not end."""
        self.assertEqual(script(code), (want, "", ""))

    def test_while_another_thread_generates(self):
        self.ends("""
            import threading
            import weft
            session = weft.Model().session(context=4096)

            def work():
                while True:
                    session.generate("Once", max_tokens=4000)
            threading.Thread(target=work, daemon=True).start()
            eventually(lambda: is_busy(session), "a text")
        """)

    def test_while_a_custom_op_runs(self):
        for _ in range(3):
            self.ends("""
                import threading
                import numpy as np
                import weft

                begun = threading.Event()

                @weft.register_op
                def py_slow(x):
                    begun.set()
                    for _ in range(50):
                        x = x + 1
                    return x
                g = weft.Graph()
                g.output(weft.ops.py_slow(g.input("x", (64, 64))), "y")

                def work():
                    while True:
                        g.run({"x": np.zeros((64, 64), np.float32)})
                threading.Thread(target=work, daemon=True).start()
                begun.wait()
            """)

    def test_with_objects_that_are_in_use(self):
        self.ends("""
            import sys
            import weft
            from weft.llama_cpp import Llama
            model = weft.Model()
            stream = model.session(context=64).stream("Once")
            next(stream)
            chat = weft.Chat(model.session(context=256)).stream("Hi")
            next(chat)
            llm = Llama(weft.bundled_model(), verbose=False)
            chunks = llm("Once", stream=True)
            next(chunks)
            kept = [model, stream, chat, llm, chunks]
            kept.append(kept)
            sys.exit(3)
        """, 3)


class Threads(unittest.TestCase):
    def test_sessions_of_one_model_run_side_by_side(self):
        model = weft.Model()
        want = model.session(context=128).generate("Once", max_tokens=40, sampler=GREEDY)
        texts = []

        def work():
            with model.session(context=128) as session:
                texts.append(session.generate("Once", max_tokens=40, sampler=GREEDY))
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(texts, [want] * 4)

    def test_cancel_ends_a_call_of_another_thread(self):
        session = weft.Model().session(context=4096)
        ended = []

        def work():
            stream = session.stream("Once", max_tokens=4000)
            try:
                list(stream)
                ended.append(stream.finish_reason)
            except weft.CancelledError:
                ended.append("cancelled")
        thread = threading.Thread(target=work)
        thread.start()
        while thread.is_alive():
            session.cancel()
            thread.join(0.005)
        self.assertEqual(ended, ["cancelled"])

    def test_closing_under_a_call_is_an_error_or_waits(self):
        for _ in range(5):
            session = weft.Model().session(context=2048)
            seen = []

            def work():
                try:
                    session.generate("Once", max_tokens=1500)
                    seen.append(None)
                except weft.Error as e:
                    seen.append(e)
            thread = threading.Thread(target=work)
            thread.start()
            eventually(lambda: is_busy(session) or seen, "a text")
            session.close()
            thread.join(PATIENCE)
            self.assertFalse(thread.is_alive())
            self.assertEqual(len(seen), 1)


if __name__ == "__main__":
    unittest.main()
