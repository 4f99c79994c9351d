"""For bench/serve.py: how much hostile clients slow one normal stream, and how long a small request
waits beside costly ones."""

import contextlib
import functools
import http.client
import json
import multiprocessing
import os
import shlex
import socket
import statistics
import threading
import time

from compare_tables import table
from serve_client import Program

BOUND = 0.9  # of the speed alone
WAIT_BOUND = 0.25  # seconds: the longest wait of a request for one token
WATCHED = 8  # seconds for which they are sent, one after the other
OWN_KEY, OTHER_KEYS = "own-key", ("key-1", "key-2", "key-3")  # of the server with costly requests
# Clients that send a costly request at a time, by their keys.
CLIENTS = {"12, another key": {OTHER_KEYS[0]: 12},
           "12, 3 other keys": {key: 4 for key in OTHER_KEYS},
           "3, the same key": {OWN_KEY: 3}}
MAX_CLIENTS = max(sum(n_by_key.values()) for n_by_key in CLIENTS.values())
PATIENCE = 2  # seconds that a client waits for an answer
PAUSE = 0.01  # seconds between two attacks of a client
POST = (b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\n"
        b"Content-Type: application/json\r\n")
DEEP = b'{"messages":' + b"[" * 10_000 + b"]" * 10_000 + b"}"


# ---- attacks: each sends over one new connection -------------------------------------------------

def slow_header(sock):
    for byte in POST:
        sock.sendall(bytes([byte]))
        time.sleep(0.05)


def header_bomb(sock):
    sock.sendall(POST)
    for i in range(1000):
        sock.sendall(b"X-%d: %b\r\n" % (i, b"a" * 1000))


def deep_json(sock):
    sock.sendall(POST + b"Content-Length: %d\r\n\r\n" % len(DEEP) + DEEP)
    sock.recv(4096)


def huge_body(sock):
    sock.sendall(POST + b"Content-Length: %d\r\n\r\n" % (1 << 30))
    for _ in range(1 << 10):
        sock.sendall(bytes(1 << 20))


def endless_chunks(sock):
    sock.sendall(POST + b"Transfer-Encoding: chunked\r\n\r\n")
    for _ in range(1 << 10):
        sock.sendall(b"100000\r\n" + bytes(1 << 20) + b"\r\n")


def half_closed(sock):
    sock.sendall(POST + b"Content-Length: 100\r\n\r\n{")
    sock.shutdown(socket.SHUT_WR)
    sock.recv(4096)


def pipelining(sock):
    sock.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n" * 500)
    sock.recv(4096)  # the rest of the answers is never read


def two_lengths(sock):
    sock.sendall(POST + b"Content-Length: 2\r\nContent-Length: 50\r\n\r\n{}")
    sock.recv(4096)


# Clients at a time, by attack.
ATTACKS = {slow_header: 50, header_bomb: 1, deep_json: 1, huge_body: 1, endless_chunks: 1,
           half_closed: 10, pipelining: 2, two_lengths: 2}


# ---- costly requests -------------------------------------------------------------------------------

def overlapping_patterns():
    """A schema of some 10 kB whose patterns are hard to tell apart."""
    names = {f"^[a-z]*{chr(97 + i % 26)}[a-z]{{{i % 12}}}x?$": {"type": "string"} for i in range(250)}
    return {"type": "object", "patternProperties": names}


def costly_requests():
    """The path and the body of each kind."""
    text = {"prompt": "x", "n_predict": 1}
    optional = {f"p{i}": {"type": "string"} for i in range(3000)}
    return {
        "an ambiguous grammar": ("/completion",
                                 {**text, "grammar": "root ::= " + " ".join(["[a-z ]*"] * 600)}),
        "optional properties": ("/completion", {
            **text, "n_predict": 4, "json_schema": {"type": "object", "properties": optional}}),
        "overlapping patterns": ("/completion", {**text, "json_schema": overlapping_patterns()}),
        "texts of 20 MB": ("/tokenize", {"content": "many words " * 1_900_000}),
    }


def send(key, path, body, sock):
    sock.settimeout(60)
    sock.sendall(b"POST %b HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                 b"Authorization: Bearer %b\r\nContent-Length: %d\r\n\r\n%b"
                 % (path.encode(), key.encode(), len(body), body))
    sock.recv(4096)


# ---- the clients ---------------------------------------------------------------------------------

def repeat(attack, port, count):
    while True:
        with contextlib.suppress(OSError):  # it was refused
            with socket.create_connection(("127.0.0.1", port), PATIENCE) as sock:
                with count.get_lock():
                    count.value += 1
                attack(sock)
        time.sleep(PAUSE)


def run_clients(attacks, port, count):
    os.nice(19)  # the work of the clients should not count
    for attack, n_clients in attacks.items():
        for _ in range(n_clients):
            threading.Thread(target=repeat, args=(attack, port, count), daemon=True).start()
    threading.Event().wait()


@contextlib.contextmanager
def clients(attacks, port):
    """Yields the number of connections that the clients have made: so many at a time, by attack."""
    count = multiprocessing.Value("l", 0)
    process = multiprocessing.Process(target=run_clients, args=(attacks, port, count), daemon=True)
    process.start()
    try:
        yield count
    finally:
        process.kill()
        process.join()


# ---- measuring -----------------------------------------------------------------------------------

def measure_beside(server, attacks, rate, rounds):
    """The ratio of the speeds in each pair of measurements, and the connections per second."""
    ratios, connections, seconds = [], 0, 0
    for r in range(rounds):
        speeds = {}
        for beside in (False, True) if r % 2 else (True, False):
            with clients(attacks if beside else {}, server.port) as count:
                start = time.monotonic()
                speeds[beside] = rate(server)
                if beside:
                    seconds += time.monotonic() - start
                    connections += count.value
        ratios.append(speeds[True] / speeds[False])
    return ratios, connections / seconds


def hostile(server, rate, rounds):
    """Prints a table; 1 if an attack slows the stream by more than the bound allows, or if it never
    reached the server. `rate(server)`: the speed of a stream, measured now."""
    rows, failed = [], False
    cases = {attack.__name__.replace("_", " "): {attack: n} for attack, n in ATTACKS.items()}
    for name, attacks in {**cases, "all": ATTACKS}.items():
        ratios, per_second = measure_beside(server, attacks, rate, rounds)
        ratio = statistics.median(ratios)
        failed |= ratio < BOUND or per_second == 0
        rows.append([name, f"{per_second:.0f}", f"{ratio:.3f}",
                     f"{min(ratios):.3f} to {max(ratios):.3f}", f"at least {BOUND}"])
    print("\n".join(table(["clients", "connections/s", "speed beside them / alone", "all pairs",
                           "bound"], rows)))
    return int(failed)


def with_keys(program):
    """The same server with all keys."""
    return Program(f"{program.name}={shlex.join(program.command)} "
                   f"--api-key {','.join([OWN_KEY, *OTHER_KEYS])}")


def waits(port):
    """Seconds of requests for one token, sent one after the other."""
    body = json.dumps({"prompt": "Hi", "n_predict": 1})
    times, end = [], time.monotonic() + WATCHED
    while time.monotonic() < end:
        start = time.monotonic()
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        connection.request("POST", "/completion", body, {"Authorization": f"Bearer {OWN_KEY}"})
        response = connection.getresponse()
        response.read()
        connection.close()
        if response.status != 200:
            raise RuntimeError(f"a request for one token got {response.status}")
        times.append(time.monotonic() - start)
        time.sleep(PAUSE)
    return times


def hostile_waits(server):
    """Prints a table; 1 if a request for one token waits longer than the bound beside costly ones,
    which have slots of their own."""
    rows, failed = [], False
    cases = [("none", "-", {}, "", {})]
    for name, (path, body) in costly_requests().items():
        cases += [(name, whose, n_by_key, path, body) for whose, n_by_key in CLIENTS.items()]
    for name, whose, n_by_key, path, body in cases:
        text = json.dumps(body).encode()
        attacks = {functools.partial(send, key, path, text): n for key, n in n_by_key.items()}
        with clients(attacks, server.port) as count:
            time.sleep(0.5 if attacks else 0)
            times = waits(server.port)
            sent = count.value
        time.sleep(1)  # for requests whose clients are gone
        failed |= max(times) > WAIT_BOUND or (len(attacks) > 0 and sent == 0)
        rows.append([name, whose, f"{sent}", f"{1e3 * statistics.median(times):.0f} ms",
                     f"{1e3 * max(times):.0f} ms", f"under {1e3 * WAIT_BOUND:.0f} ms"])
    print("\n".join(table(["requests beside it", "clients", "sent", "median", "longest", "bound"], rows)))
    return int(failed)
