#!/usr/bin/env python3
"""Writes the corpus of the http_request fuzz target: requests, valid and invalid."""
import gzip
import pathlib

HOST = b"Host: x\r\n"


def post(fields, body=b"", first=b"POST /v1/a?b=c HTTP/1.1\r\n"):
    return first + HOST + fields + b"\r\n" + body


def chunked(chunks):
    return post(b"Transfer-Encoding: chunked\r\n", chunks)


def sized(body, fields=b""):
    return post(b"Content-Length: %d\r\n" % len(body) + fields, body)


PACKED = gzip.compress(b"hello " * 50, mtime=0)
FILES = {
    "get": b"GET /health HTTP/1.1\r\nHost: localhost:80\r\nA: b\r\n\r\n",
    "get-1.0": b"GET / HTTP/1.0\r\n\r\n",
    "absolute": b"GET http://h/p%20q?r HTTP/1.1\r\nHost: x\r\n\r\n",
    "options-star": b"OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n",
    "empty-lines": b"\r\n\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n",
    "sized": sized(b"hello") + b"GET / HTTP/1.1\r\n",
    "sized-0": sized(b""),
    "chunked": chunked(b"5;a=b\r\nhello\r\n3;c=\"d;e\"\r\n wo\r\n0\r\n\r\n") + b"GET",
    "chunked-0": chunked(b"0\r\n\r\n"),
    "trailers": chunked(b"1\r\na\r\n0;x\r\nA: b\r\nC: d\r\n\r\n"),
    "chunk-hex": chunked(b"00A\r\n0123456789\r\n000\r\n\r\n"),
    "gzip": sized(PACKED, b"Content-Encoding: gzip\r\n"),
    "gzip-chunked": post(b"Content-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n",
                         b"%x\r\n" % len(PACKED) + PACKED + b"\r\n0\r\n\r\n"),
    "gzip-bomb": sized(gzip.compress(bytes(5000), mtime=0), b"Content-Encoding: gzip\r\n"),
    "expect": sized(b"ab", b"Expect: 100-continue\r\n"),
    "two-lengths": post(b"Content-Length: 1\r\nContent-Length: 1\r\n", b"a"),
    "length-list": post(b"Content-Length: 1, 1\r\n", b"a"),
    "length-chunked": post(b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", b"0\r\n\r\n"),
    "length-plus": post(b"Content-Length: +1\r\n", b"a"),
    "length-huge": post(b"Content-Length: 99999999999999999999\r\n"),
    "coding-cow": post(b"Transfer-Encoding: cow\r\n"),
    "coding-two": post(b"Transfer-Encoding: chunked\r\n" * 2, b"0\r\n\r\n"),
    "chunk-bad": chunked(b"zz\r\n"),
    "chunk-overflow": chunked(b"ffffffffffffffff1\r\n"),
    "chunk-sign": chunked(b"-1\r\n"),
    "chunk-lf": chunked(b"1\na\r\n0\r\n\r\n"),
    "space-colon": b"GET / HTTP/1.1\r\nHost : x\r\n\r\n",
    "folded": b"GET / HTTP/1.1\r\nHost: x\r\nA: b\r\n c\r\n\r\n",
    "nul": b"GET / HTTP/1.1\r\nHost: x\r\nA: \x00\r\n\r\n",
    "bare-cr": b"GET / HTTP/1.1\r\nHost: x\r\nA: b\rC: d\r\n\r\n",
    "bare-lf": b"GET / HTTP/1.1\nHost: x\n\n",
    "no-host": b"GET / HTTP/1.1\r\n\r\n",
    "escape-bad": b"GET /%zz HTTP/1.1\r\nHost: x\r\n\r\n",
    "preface": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "tls": bytes.fromhex("1603010200010001fc0303"),
}

if __name__ == "__main__":
    target = pathlib.Path(__file__).resolve().parent / "corpus" / "http_request"
    target.mkdir(parents=True, exist_ok=True)
    for name, content in FILES.items():
        (target / f"{name}.bin").write_bytes(b"\x00" + content)
