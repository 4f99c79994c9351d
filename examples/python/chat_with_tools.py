#!/usr/bin/env python3
"""A chat whose model may call functions: chat_with_tools.py MODEL.gguf (Ctrl-D ends it)."""
import datetime
import sys
import weft


def today() -> str:
    """The date of today."""
    return datetime.date.today().isoformat()


def add(a: float, b: float) -> float:
    """The sum of two numbers."""
    return a + b


with weft.Model(sys.argv[1]) as model, model.session(context=2048) as session:
    chat = weft.Chat(session, system="You are a helpful assistant.", tools=[today, add])
    for line in iter(lambda: sys.stdin.readline(), ""):
        for piece in chat.stream(line.strip()):
            print(piece, end="", flush=True)
        print()
