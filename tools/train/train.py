#!/usr/bin/python3
"""Trains the tokenizer and the model; can be stopped and started again at any checkpoint.

Every document is composed when it is needed and used once, so the training loss
is as honest as the validation loss.
"""

import argparse
import json
import os
import time
from pathlib import Path

import torch
import torch.nn.functional as F

import corpus
import words
from bpe import Tokenizer
from model import Config, Model
from optim import make_optimizers, rate

SEED, VALIDATION_SEED = 1, 2


class Rows:
    """Packs documents into rows. A row begins with a document; its last document may be cut short."""

    def __init__(self, tokenizer: Tokenizer, seed: int, index: int = 0):
        self.tokenizer, self.seed, self.index = tokenizer, seed, index

    def row(self, length: int) -> list:
        ids = []
        while len(ids) < length + 1:
            ids += [self.tokenizer.end] + self.tokenizer.encode(corpus.document(self.seed, self.index))
            if len(ids) < length + 1:
                self.index += 1
        self.index += 1
        return ids[:length + 1]

    def batch(self, tokens: int, length: int):
        rows = torch.tensor([self.row(length) for _ in range(tokens // length)])
        return rows[:, :-1], rows[:, 1:]


def loss_of(model, batch):
    x, y = batch
    with torch.autocast("cpu", dtype=torch.bfloat16):
        logits = model(x)
    return F.cross_entropy(logits.float().flatten(0, 1), y.flatten())


@torch.no_grad()
def validate(model, batches) -> float:
    return sum(loss_of(model, b).item() for b in batches) / len(batches)


def load_tokenizer(folder: Path, size: int, documents: int) -> Tokenizer:
    """The tokenizer in the folder; trained first if there is none."""
    path = folder / "merges.json"
    if not path.exists():
        # A name is easier to remember, and to say again, as one token.
        Tokenizer.train((corpus.document(SEED, i) for i in range(documents)), size, words.GIRLS + words.BOYS).save(path)
    return Tokenizer.load(path)


def save(path: Path, **state):
    """Writes a checkpoint so that a crash leaves the old one intact."""
    torch.save(state, f"{path}.new")
    os.replace(f"{path}.new", path)


def note(log, **entry):
    """One line for the log and for the eye."""
    line = json.dumps({k: round(v, 4) if isinstance(v, float) else v for k, v in entry.items()})
    print(line, flush=True)
    log.write(line + "\n")
    log.flush()


def options():
    args = argparse.ArgumentParser(description=__doc__)
    args.add_argument("--dir", default=os.environ.get("WEFT_TRAIN_DIR", "build/train"))
    args.add_argument("--batch", type=int, default=2048, help="tokens in a step")
    args.add_argument("--matrix-lr", type=float, default=0.02)
    args.add_argument("--other-lr", type=float, default=0.006)
    args.add_argument("--schedule",
                      default="-1:0 39:1 1100:1 1700:0",
                      help="step:share of the peak rate ...")
    args.add_argument("--long-from", type=int, default=1000, help="from this step on, rows are 512 long, not 256")
    args.add_argument("--check-every", type=int, default=50)
    args.add_argument("--stop-at", type=int, default=0, help="stop after this step, as if interrupted")
    args.add_argument("--threads", type=int, default=2)
    o = args.parse_args()
    o.knots = [(int(step), float(share)) for step, share in (k.split(":") for k in o.schedule.split())]
    o.steps = o.knots[-1][0]
    return o


def resume(path: Path, model, optimizers, rows):
    """Takes up the last checkpoint; returns the next step and the tokens seen so far."""
    if not path.exists():
        return 0, 0
    state = torch.load(path)
    model.load_state_dict(state["model"])
    for optimizer, kept in zip(optimizers, state["optimizers"]):
        optimizer.load_state_dict(kept)
    rows.index = state["index"]
    return state["step"], state["tokens"]


def train_step(model, optimizers, batch, share: float) -> float:
    """One update at a share of the peak rate; returns the loss."""
    loss = loss_of(model, batch)
    for optimizer in optimizers:
        for group in optimizer.param_groups:
            group["lr"] = group["peak"] * share
        optimizer.zero_grad(set_to_none=True)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    for optimizer in optimizers:
        optimizer.step()
    return loss.item()


def main():
    o = options()
    torch.set_num_threads(o.threads)
    torch.manual_seed(SEED)
    folder = Path(o.dir)
    folder.mkdir(parents=True, exist_ok=True)
    cfg = Config()
    tokenizer = load_tokenizer(folder, cfg.vocab, 12000)
    model = Model(cfg)
    optimizers = make_optimizers(model, o.matrix_lr, o.other_lr)
    rows, held_out = Rows(tokenizer, SEED), Rows(tokenizer, VALIDATION_SEED)
    checks = [held_out.batch(8192, 512)]
    checkpoint = folder / "checkpoint.pt"
    step, tokens = resume(checkpoint, model, optimizers, rows)
    started, recent = time.time(), []
    with open(folder / "log.jsonl", "a", encoding="utf-8") as log:
        note(log, parameters=model.parameter_count(), first_step=step, steps=o.steps, batch=o.batch)
        while step < o.steps:
            length = 512 if step >= o.long_from else 256
            share = rate(step, o.knots)
            recent.append(train_step(model, optimizers, rows.batch(o.batch, length), share))
            step, tokens = step + 1, tokens + o.batch
            if step % 20 == 0:
                print(step,
                      round(sum(recent[-20:]) / len(recent[-20:]), 4),
                      f"{time.time() - started:.0f}s",
                      flush=True)
            if step % o.check_every == 0 or step in (o.steps, o.stop_at):
                note(log,
                     step=step,
                     tokens=tokens,
                     loss=sum(recent) / len(recent),
                     validation=validate(model, checks),
                     share=share,
                     seconds=time.time() - started)
                recent = []
                save(checkpoint,
                     step=step,
                     tokens=tokens,
                     index=rows.index,
                     config=cfg.as_dict(),
                     model=model.state_dict(),
                     optimizers=[x.state_dict() for x in optimizers])
            if step == o.stop_at:
                break


if __name__ == "__main__":
    main()
