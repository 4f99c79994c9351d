"""For bench/serve.py: how much hostile clients slow one normal stream."""

import contextlib
import multiprocessing
import os
import socket
import statistics
import threading
import time

from compare_tables import table

BOUND = 0.9  # of the speed alone
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
    for attack in attacks:
        for _ in range(ATTACKS[attack]):
            threading.Thread(target=repeat, args=(attack, port, count), daemon=True).start()
    threading.Event().wait()


@contextlib.contextmanager
def clients(attacks, port):
    """Yields the number of connections that the clients have made."""
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
            with clients(attacks if beside else (), server.port) as count:
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
    cases = {attack.__name__.replace("_", " "): (attack,) for attack in ATTACKS}
    for name, attacks in {**cases, "all": tuple(ATTACKS)}.items():
        ratios, per_second = measure_beside(server, attacks, rate, rounds)
        ratio = statistics.median(ratios)
        failed |= ratio < BOUND or per_second == 0
        rows.append([name, f"{per_second:.0f}", f"{ratio:.3f}",
                     f"{min(ratios):.3f} to {max(ratios):.3f}", f"at least {BOUND}"])
    print("\n".join(table(["clients", "connections/s", "speed beside them / alone", "all pairs",
                           "bound"], rows)))
    return int(failed)
