#!/usr/bin/env python3
"""Measures what the store of prefixes of `weft serve` gains for sessions of agents: later prompts
continue from texts that ran. Two servers, one as it is and one that reuses nothing, get the same
requests in turn, never two at a time. Exit code 1 if their texts differ, or if the second one did
reuse something. Needs a quiet machine. The scripts:

  session  one agent: a system prompt, then turns with messages of users or tools and short answers
  hit      a long prompt, and the same one with another end
  miss     prompts that share nothing: what the store costs where it cannot help
  crowd    many conversations that take turns, with a store of limited size

  bench/agents.py --make 1.1b Q4_K_M -r 1
  bench/agents.py -m model.gguf --scripts crowd --crowd 10000 1000 --cache-ram 256 --json
  bench/agents.py -m model.gguf --scripts session --flags="-t 2 --chat-template chatml" \\
      --peer "llama.cpp=llama-server -m {model} --port {port} -np {slots} -c {context} -t 2"
"""

import argparse
import asyncio
import collections
import contextlib
import itertools
import json
import os
import pathlib
import random
import shlex
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile

from compare_tables import spread, table
from serve_client import Program, ask, completion, post

ROOT = pathlib.Path(__file__).resolve().parent.parent
STORE, NONE = "weft", "weft, no store"
COMPUTED = "prompt_tokens_total"  # only weft has it
SYLLABLES = [c + v for c in "bdfgklmnprstvz" for v in "aeiou"]
Side = collections.namedtuple("Side", "name server")  # one of the servers that are measured
CHATML = ("{% for m in messages %}{{'<|im_start|>' + m.role + '\\n' + m.content + '<|im_end|>\\n'}}"
          "{% endfor %}{% if add_generation_prompt %}{{'<|im_start|>assistant\\n'}}{% endif %}")
ANSWER = 8     # tokens of an answer, except in `miss`
DECODE = 64    # those of an answer of `miss`
AROUND = 16    # tokens of a template around a message and its answer, about
END = 32       # tokens in which the two prompts of `hit` differ
MESSAGE = 40   # tokens of a message of `crowd`
BOUNDS = {"percent_of_cold": "3", "prefill_ratio": "1.01", "token_ratio": "1.00"}
SYSTEM = 0.27  # share of the system prompt in all tokens of the prompts of `session`


def vocabulary(n):
    """Texts of n tokens. Each word of syllables after a space is one token, so that answers become
    the same tokens again when they are part of a prompt."""
    words = itertools.chain(*(itertools.product(SYLLABLES, repeat=k) for k in (1, 2, 3)))
    texts = ["<unk>", "<s>", "</s>", "<|im_start|>", "<|im_end|>",
             *(f"<0x{b:02X}>" for b in range(256)), "\u2581", *"abdefgiklmnoprstuvz", *SYLLABLES]
    if n < len(texts):
        sys.exit(f"cannot make a vocabulary of {n} tokens: it has at least {len(texts)}")
    return texts + ["\u2581" + "".join(w) for w in itertools.islice(words, n - len(texts))]


def packed(text):
    return struct.pack("<Q", len(text.encode())) + text.encode()


def pair(key, kind, data):
    return packed(f"tokenizer.{key}") + struct.pack("<I", kind) + data


def pairs_of_vocabulary(n):
    """What describes the vocabulary in a GGUF file."""
    kinds = [2, 3, 3, 3, 3] + [6] * 256 + [1] * (n - 261)  # unknown, control, bytes, normal
    array = lambda kind, data: struct.pack("<IQ", kind, n) + data
    return [pair("ggml.model", 8, packed("llama")), pair("chat_template", 8, packed(CHATML)),
            pair("ggml.tokens", 9, array(8, b"".join(map(packed, vocabulary(n))))),
            pair("ggml.scores", 9, array(6, struct.pack(f"<{n}f", *range(0, -n, -1)))),
            pair("ggml.token_type", 9, array(5, struct.pack(f"<{n}i", *kinds)))]


def make_model(weft, shape, weights, folder):
    """A model with random weights, and a made vocabulary: without one, servers stream no texts."""
    bare, path = folder / "bare.gguf", folder / f"{shape}-{weights}.gguf"
    if subprocess.run([weft, "bench", "--make-model", shape, weights, bare],
                      stdout=subprocess.DEVNULL, check=False).returncode != 0:
        sys.exit(f"cannot make a model of {shape} {weights}")
    with bare.open("rb") as file, path.open("wb") as out:
        head = file.read(1 << 20)  # has all pairs and the embeddings' shape
        at = head.index(b"token_embd.weight") + 21  # behind the name and the number of dimensions
        none = pair("ggml.model", 8, packed("no_vocab"))
        pairs = pairs_of_vocabulary(struct.unpack_from("<QQ", head, at)[1])
        n = len(b"".join(pairs) + pair("padding", 8, packed(""))) - len(none)
        pairs.append(pair("padding", 8, packed(" " * (-n % 32))))  # tensors stay aligned
        n_pairs = struct.unpack_from("<Q", head, 16)[0] - 1 + len(pairs)
        out.write(head[:16] + struct.pack("<Q", n_pairs) + head[24:].replace(none, b"".join(pairs)))
        shutil.copyfileobj(file, out, 1 << 24)
    bare.unlink()
    return path


class Reply:
    """A streamed answer: seconds to its first and last text, and what it says about tokens."""

    def __init__(self, answer, name):
        events = answer.events() if answer.status == 200 else []
        usage = next((e["usage"] for e in reversed(events) if e.get("usage")), None)
        if not usage:
            sys.exit(f"{name}: status {answer.status}, no usage of tokens: {answer.body[:300]!r}")
        pieces = [(at, text) for at, event in zip(answer.times(), events)
                  for choice in event.get("choices") or ()
                  for part in (choice, choice.get("delta") or {})
                  for key in ("text", "reasoning_content", "content") if (text := part.get(key))
                  ] or [(answer.parts[-1][0], "")]
        self.first, self.last = pieces[0][0], pieces[-1][0]
        self.text = "".join(text for _, text in pieces)
        self.prompt, self.new = usage["prompt_tokens"], usage["completion_tokens"]
        self.cached = (usage.get("prompt_tokens_details") or {}).get("cached_tokens")  # or unknown


def request(side, prompt, n_tokens=ANSWER):
    """The reply to messages, or to token ids."""
    path, body = "/v1/completions", completion(prompt, n_tokens)
    if isinstance(prompt[0], dict):
        path, body["messages"] = "/v1/chat/completions", body.pop("prompt")
    return Reply(asyncio.run(ask(side.server, post(path, body))), side.name)


class Lab:
    """Runs scripts on servers of one model, and compares their answers."""

    def __init__(self, args, model):
        self.args, self.model, self.problems = args, model, []
        self.name = pathlib.Path(model).stem
        with self.program(STORE).start(model, 1, 512) as server:
            meta = json.loads(server.get("/v1/models")[1])["data"][0]["meta"]
            if not json.loads(server.get("/props")[1])["chat_template"]:
                sys.exit(f"{model} has no chat template; see --flags and --make in --help")
            self.context, self.ids = meta["n_ctx_train"], range(meta["n_vocab"])
            self.tokens_of_word = 1  # as long as it is unknown
            text = post("/tokenize", {"content": self.words(random.Random(0), 256)})
            self.tokens_of_word = len(asyncio.run(ask(server, text)).json["tokens"]) / 256

    def words(self, rng, n_tokens):
        """About so many tokens of text."""
        n = max(1, round(n_tokens / self.tokens_of_word))
        return "".join(f" {rng.choice(SYLLABLES)}{rng.choice(SYLLABLES)}" for _ in range(n))

    def program(self, name, flags=""):
        off = "--no-cache-prompt --cache-ram 0" if name == NONE else ""
        weft = shlex.quote(f"{self.args.bin}/weft")
        return Program(f"{name}={weft} serve -m {{model}} --port {{port}} -np {{slots}} "
                       f"-c {{context}} --log-file /dev/null {self.args.flags} {flags} {off}")

    @contextlib.contextmanager
    def sides(self, context, flags="", peers=()):
        with contextlib.ExitStack() as stack:
            programs = [self.program(STORE, flags), self.program(NONE, flags), *peers]
            yield [Side(p.name, stack.enter_context(p.start(self.model, self.args.slots, context)))
                   for p in programs]

    def say(self, what):
        print(f"{self.name}: {what}", file=sys.stderr)

    def check(self, what, replies):
        """Notes a problem if an answer depends on the store, or something else is reused."""
        store, none = replies[STORE], replies[NONE]
        if store.text != none.text:
            self.problems.append(f"{what}: {store.text!r} with a store, {none.text!r} without")
        if none.cached:
            self.problems.append(f"{what}: {none.cached} tokens were reused without a store")


def in_turn(sides, i):
    """The sides, each time beginning with another one."""
    return sides[i % len(sides):] + sides[:i % len(sides)]


def session_messages(lab, seed):
    """The system prompt, and the message of each turn. Long ones stand for results of tools; they
    are the user's, because not every template has tools."""
    n, turns, rng = lab.args.tokens, lab.args.turns, random.Random(seed)
    system = min(SYSTEM * n / turns, lab.context / 4)
    mean = max(1, 2 * (1 - SYSTEM) * n / (turns * (turns + 1)) - ANSWER - AROUND)
    tools = "".join(f"\ntool_{i}(text):{lab.words(rng, system / 8)}" for i in range(4))
    weights = [rng.choice((1, 1, 2, 5)) for _ in range(turns)]
    return [lab.words(rng, system / 4) + tools] + [
        lab.words(rng, mean * weight * turns / sum(weights)) for weight in weights]


def run_session(lab, sides, context, number):
    """The replies of all turns that the context has room for, by side."""
    system, *messages = session_messages(lab, f"session {number}")
    histories = {s.name: [{"role": "system", "content": system}] for s in sides}
    replies, length = {s.name: [] for s in sides}, 0
    for i, text in enumerate(messages):
        if length + 2 * (text.count(" ") * lab.tokens_of_word + AROUND) > context:
            break
        for side in in_turn(sides, i + number):
            history = histories[side.name]
            history.append({"role": "user", "content": text})
            reply = request(side, history)
            history.append({"role": "assistant", "content": reply.text})
            replies[side.name].append(reply)
            length = max(length, reply.prompt + reply.new)
        lab.check(f"session {number + 1}, turn {i + 1}", {k: r[-1] for k, r in replies.items()})
    return replies


def session(lab):
    args, result = lab.args, {}
    context = min(lab.context, 256 + 3 * args.tokens // args.turns)
    with lab.sides(context, peers=args.peers) as sides:
        for r in range(args.rounds):
            lab.say(f"session, round {r + 1}")
            before = [s.server.metrics().get(COMPUTED, 0) for s in sides]
            replies = run_session(lab, sides, context, r)
            for side, computed in zip(sides, before):
                result.setdefault(side.name, []).append({
                    "computed": int(side.server.metrics().get(COMPUTED, 0) - computed),
                    "turns": [{"prompt": x.prompt, "cached": x.cached, "first_s": x.first}
                              for x in replies[side.name]]})
    return result


def hit(lab):
    n, rounds = min(lab.args.hit, lab.context - END), []
    with lab.sides(n + END) as sides:
        for r in range(lab.args.rounds):
            lab.say(f"hit, {n} tokens, round {r + 1}")
            rng = random.Random(f"hit {r}")
            begin, *ends = [rng.choices(lab.ids, k=k) for k in (n - END, END, END)]
            cold = request(sides[0], begin + ends[0])
            again = {s.name: request(s, begin + ends[1]) for s in in_turn(sides, r)}
            lab.check(f"hit {r + 1}", again)
            rounds.append({"cold_s": cold.first, "another_end_s": again[STORE].first,
                           "no_store_s": again[NONE].first,
                           "percent_of_cold": 100 * again[STORE].first / cold.first})
    return {"tokens": n, "rounds": rounds}


def miss(lab):
    n_new = min(DECODE, lab.context // 4)
    n, pairs = min(lab.args.miss, lab.context - n_new), []
    with lab.sides(n + n_new) as sides:
        for i in range(-1, lab.args.pairs):  # the first pair is a warm-up
            lab.say(f"miss, {n} tokens, pair {i + 1}")
            ids = random.Random(f"miss {i}").choices(lab.ids, k=n)
            replies = {s.name: request(s, ids, n_new) for s in in_turn(sides, i)}
            lab.check(f"miss {i + 1}", replies)
            of = {name: {"prefill": r.first, "token": (r.last - r.first) / max(1, r.new - 1)}
                  for name, r in replies.items()}
            pairs.append({key: value for k, none in of[NONE].items() for key, value in (
                (f"{k}_s", of[STORE][k]), (f"{k}_no_store_s", none),
                (f"{k}_ratio", of[STORE][k] / max(none, 1e-9)))})
    return {"tokens": n, "rounds": pairs[1:]}


def crowd_counts(replies, n_conversations):
    """What was reused. New tokens are those that no earlier text of the conversation has."""
    later = [(r, before) for r, before in zip(replies[n_conversations:], replies)]
    prompts = sum(r.prompt for r in replies)
    return {"requests": len(replies), "conversations": n_conversations, "later_turns": len(later),
            "hits": sum(r.cached > AROUND for r, _ in later),
            "whole_hits": sum(r.cached >= before.prompt - 1 for r, before in later),
            "tokens_of_prompts": prompts, "computed": prompts - sum(r.cached for r in replies),
            "new": prompts - sum(before.prompt + before.new for _, before in later)}


def crowd(lab):
    n_requests, n_conversations = lab.args.crowd
    turns = -(-n_requests // n_conversations)
    context = min(lab.context, 64 + 2 * turns * (MESSAGE + ANSWER + AROUND))
    size = min(MESSAGE, 0.75 * context / turns - ANSWER - AROUND)  # less if many do not fit
    rng, histories = random.Random("crowd"), {}
    with lab.sides(context, f"--cache-ram {lab.args.cache_ram}") as sides:
        replies = {s.name: [] for s in sides}
        for side in sides:  # touches the memory of a whole context
            request(side, rng.choices(lab.ids, k=context - ANSWER))
        memory = [[s.server.memory() for s in sides]]
        for i in range(n_requests):
            message = {"role": "user", "content": lab.words(rng, size)}
            for side in in_turn(sides, i):
                history = histories.setdefault((side.name, i % n_conversations), [])
                replies[side.name].append(reply := request(side, history + [message]))
                history += [message, {"role": "assistant", "content": reply.text}]
            lab.check(f"crowd, request {i + 1}", {k: r[-1] for k, r in replies.items()})
            if i + 1 in (max(1, n_requests // 10), n_requests):
                lab.say(f"crowd, {i + 1} of {n_requests} requests")
                memory.append([s.server.memory() for s in sides])
    times = ("MiB_at_start", "MiB_after_a_tenth", "MiB_at_the_end")
    return {name: {**crowd_counts(replies[name], n_conversations),
                   **dict(zip(times, (round(n / 2**20, 1) for n in of_side)))}
            for name, of_side in zip(replies, zip(*memory))}


def median(values):
    return f"{statistics.median(values):.4g} ± {spread(values):.2g}"


def session_rows(sides):
    for name, rounds in sides.items():
        totals = [[sum(t["first_s"] for t in r["turns"]) for r in sides[of]] for of in (NONE, name)]
        turns = [t for r in rounds for t in r["turns"]]
        told = None not in [t["cached"] for t in turns]  # not every peer does
        yield {"program": name, "turns": len(turns), "tokens": sum(t["prompt"] for t in turns),
               "computed": sum(r["computed"] for r in rounds) or "",
               "computed, by usage": sum(t["prompt"] - t["cached"] for t in turns) if told else "",
               "to first tokens, s": median(totals[1]),
               "times faster to first token": median([a / b for a, b in zip(*totals)])}


def turn_rows(sides):
    n = min(len(r["turns"]) for r in sides[STORE])
    for i in sorted({round(k * (n - 1) / 7) for k in range(8)}):
        yield {"turn": i + 1, "tokens of the prompt": sides[STORE][0]["turns"][i]["prompt"], **{
            f"first token of {name}, s": median([r["turns"][i]["first_s"] for r in rounds])
            for name, rounds in sides.items()}}


def head(key):
    bound = f", at most {BOUNDS[key]}" if key in BOUNDS else ""
    return key.removesuffix("_s").replace("_", " ") + (", s" if key.endswith("_s") else bound)


def rows_of_rounds(result):
    yield {"tokens": result["tokens"], **{head(key): median([r[key] for r in result["rounds"]])
                                          for key in result["rounds"][0]}}


def crowd_rows(sides):
    for name, counts in sides.items():
        yield {"program": name, **{head(key): value for key, value in counts.items()}}


def shown(results, rows_of):
    rows = [{"model": m, **row} for m, result in results.items() for row in rows_of(result)]
    return "\n".join(table(rows[0], [map(str, row.values()) for row in rows]))


SCRIPTS = {"session": (session, session_rows, turn_rows), "hit": (hit, rows_of_rounds),
           "miss": (miss, rows_of_rounds), "crowd": (crowd, crowd_rows)}


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("-m", "--model", dest="models", action="append", help="repeatable; default: bundled one")
    add("--make", nargs=2, action="append", default=[], metavar=("SHAPE", "TYPE"),
        help="make a model with random weights, as `weft bench --make-model`, with a vocabulary")
    add("--bin", type=pathlib.Path, default=ROOT / "build/release/bin", help="folder of weft")
    add("--flags", default="", help="further flags of both servers")
    add("--peer", dest="peers", type=Program, action="append", default=[], metavar="NAME=COMMAND",
        help="another server to run `session` on; {model}, {port}, {slots}, {context} are replaced")
    add("--scripts", nargs="+", choices=SCRIPTS, default=list(SCRIPTS), help="default: all")
    add("--slots", type=int, default=1, help="of each server (default 1)")
    add("-r", "--rounds", type=int, default=3, help="of session and hit (default 3)")
    add("--turns", type=int, default=40, help="of session (default 40)")
    add("--tokens", type=int, default=61000, help="all prompts of session (default 61000)")
    add("--hit", type=int, default=16384, help="tokens of the prompt of hit (default 16384)")
    add("--miss", type=int, default=2048, help="tokens of a prompt of miss (default 2048)")
    add("--pairs", type=int, default=10, help="requests of miss to each server (default 10)")
    add("--crowd", nargs=2, type=int, default=(100, 20), metavar=("N", "C"),
        help="requests of crowd, and conversations (default 100 20)")
    add("--cache-ram", type=int, default=16, help="MiB of the store in crowd (default 16)")
    add("--json", action="store_true", help="print one JSON object")
    args = parser.parse_args(arguments)
    if {STORE, NONE} & {p.name for p in args.peers}:
        parser.error("--peer: needs another name")
    if not 1 <= args.crowd[1] <= args.crowd[0]:
        parser.error("--crowd: needs a conversation, and a request for each")
    return args


def main(arguments):
    args = parse(arguments)
    if os.getloadavg()[0] > 0.3 * (os.cpu_count() or 1):
        print(f"warning: the machine is busy (load {os.getloadavg()[0]:.2f})", file=sys.stderr)
    results, problems = {name: {} for name in args.scripts}, []
    with tempfile.TemporaryDirectory(prefix="weft-agents-") as folder:
        made = (make_model(args.bin / "weft", *make, pathlib.Path(folder)) for make in args.make)
        models = args.models or ([] if args.make else [ROOT / "examples/models/weft-stories.gguf"])
        for model in itertools.chain(models, made):
            lab = Lab(args, str(model))
            for name in args.scripts:
                results[name][lab.name] = SCRIPTS[name][0](lab)
            problems += [f"{lab.name}: {p}" for p in lab.problems]
    if args.json:
        print(json.dumps({**results, "problems": problems}, indent=1))
    else:
        print("\n\n".join(shown(results[n], rows) for n in args.scripts for rows in SCRIPTS[n][1:]))
    if problems:
        print(f"error: {len(problems)} problems:", *problems[:10], sep="\n", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
