#!/usr/bin/python3
"""Trains the tokenizer and the model; can be stopped and started again at any checkpoint.

Every document is composed when it is needed and used once, so the training loss
is as honest as the validation loss.
"""

import argparse
import json
import os
import random
import time
from pathlib import Path

import torch
import torch.multiprocessing as multiprocessing
import torch.nn.functional as F

import corpus
import gguf_writer
import induction
import words
from bpe import Tokenizer
from lesson import GIVEN, TOLD, lesson
from model import Config, Model
from optim import make_optimizers, rate

SEED, VALIDATION_SEED = 1, 2


class Lessons:
    """Batches of whole documents of similar length, so that little of a batch is padding."""

    POOL = 96  # documents that are sorted together

    def __init__(self, tokenizer: Tokenizer, seed: int, drills: float = 0.0):
        self.tokenizer, self.seed, self.drills, self.index = tokenizer, seed, drills, 0
        self.ready = []

    def _document(self):
        doc = corpus.document(self.seed, self.index)
        self.index += 1
        ids, weights = lesson(self.tokenizer, doc.text, doc.marks)
        # A document stands between two end tokens; a chat need not be ended, a story must.
        return [self.tokenizer.end] + ids + [self.tokenizer.end], weights + [TOLD]

    def _drill(self, length: int, number: int = 0):
        """Words of random tokens in random order: what can be foreseen is how a known word goes on.

        To copy like that is what names of several tokens need, and it is learnt faster by itself.
        """
        rng = random.Random(f"{self.seed} {self.index} {length} {len(self.ready)} {number}")
        ids, weights, seen = [self.tokenizer.end], [], set()
        known = [
            rng.choices(range(3, len(self.tokenizer.tokens)), k=rng.randint(2, 5))
            for _ in range(20)
        ]
        while len(weights) < length:
            n = rng.randrange(len(known))
            ids += known[n]
            weights += [GIVEN] + [TOLD if n in seen else GIVEN] * (len(known[n]) - 1)
            seen.add(n)
        return ids[:length + 1], weights[:length]

    def sample(self):
        """Rows of 256 ids, twelve drills and eight of text, to fit the first weights to."""
        rows, text = [], []
        for self.index in range(12):
            rows.append(self._drill(256)[0][:256])
        while len(text) < 8 * 256:
            text += self._document()[0]
        return torch.tensor(rows + [text[at:at + 256] for at in range(0, 8 * 256, 256)])

    def batch(self, tokens: int, longest: int):
        """About `tokens` tokens: ids [rows, length + 1], and the weights of all but the first
        ids."""
        if not self.ready:
            pool = sorted((self._document() for _ in range(self.POOL)), key=lambda d: len(d[1]))
            rows = []
            for doc in pool:
                rows.append(doc)
                if len(rows) * len(doc[1]) >= tokens:
                    self.ready.append(rows)
                    rows = []
            random.Random(self.index).shuffle(self.ready)  # the short rest of the pool is left out
        rows = self.ready.pop()
        rows = rows + [
            self._drill(len(rows[0][1]), n) for n in range(round(len(rows) * self.drills))
        ]
        length = min(longest, max(len(weights) for _, weights in rows))
        ids = torch.full((len(rows), length + 1), self.tokenizer.end)
        weights = torch.zeros(len(rows), length)
        for i, (row, weight) in enumerate(rows):
            ids[i, :len(row)] = torch.tensor(row[:length + 1])
            weights[i, :len(weight)] = torch.tensor(weight[:length])
        return ids, weights


def loss_of(model, batch):
    """The weighted mean loss over the tokens that have a weight; no logits are made for the
    others."""
    ids, weights = batch
    chosen = weights > 0
    with torch.autocast("cpu", dtype=torch.bfloat16):
        logits = model(ids[:, :-1], chosen)
    losses = F.cross_entropy(logits.float(), ids[:, 1:][chosen], reduction="none")
    weights = weights[chosen]
    return (losses * weights).sum() / weights.sum()


@torch.no_grad()
def validate(model, batches) -> float:
    return sum(loss_of(model, b).item() for b in batches) / len(batches)


def load_tokenizer(folder: Path, size: int, documents: int) -> Tokenizer:
    """The tokenizer in the folder; trained first if there is none."""
    path = folder / "merges.json"
    if not path.exists():
        # A name is easier to remember, and to say again, as one token.
        texts = (corpus.document(SEED, i).text for i in range(documents))
        Tokenizer.train(texts, size, words.GIRLS + words.BOYS).save(path)
    return Tokenizer.load(path)


def take_tokenizer(path: str, folder: Path):
    """Writes down the tokenizer of a model file as that of this training."""
    keys, _ = gguf_writer.read(path)
    Tokenizer([m.split(" ") for m in keys["tokenizer.ggml.merges"]]).save(folder / "merges.json")


def begin_from(path: str, model):
    """Takes the weights of a model file of the same shape."""
    _, tensors = gguf_writer.read(path)
    model.load_state_dict(
        {name.replace("blk.", "blocks."): torch.tensor(w).float()
         for name, w in tensors.items()})


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
    args.add_argument("--from",
                      dest="origin",
                      metavar="GGUF",
                      help="begin with the weights of this model file")
    args.add_argument("--tokenizer", metavar="GGUF", help="use the tokenizer of this model file")
    args.add_argument("--batch", type=int, default=2048, help="tokens in a step")
    args.add_argument("--drills",
                      type=float,
                      default=0.12,
                      help="rows of copying drill for each row of text")
    args.add_argument("--matrix-lr", type=float, default=0.02)
    args.add_argument("--other-lr", type=float, default=0.006)
    args.add_argument("--schedule",
                      default="-1:0 40:1 3000:1 5400:0",
                      help="step:share of the peak rate ...")
    args.add_argument("--check-every", type=int, default=50)
    args.add_argument("--stop-at",
                      type=int,
                      default=0,
                      help="stop after this step, as if interrupted")
    args.add_argument("--workers", type=int, default=2, help="processes of one thread each")
    o = args.parse_args()
    o.knots = [(int(step), float(share))
               for step, share in (k.split(":") for k in o.schedule.split())]
    o.steps = o.knots[-1][0]
    return o


def resume(folder: Path, rank: int, model, optimizers, rows):
    """Takes up the last checkpoint; returns the next step and the tokens seen so far."""
    if not (folder / "checkpoint.pt").exists():
        return 0, 0
    state = torch.load(folder / "checkpoint.pt")
    if rank == 0:
        model.load_state_dict(state["model"])
    mine = folder / f"optimizer-{rank}.pt"
    kept = torch.load(mine) if mine.exists() else {"step": -1}
    if kept["step"] == state["step"]:  # else the momentum begins anew
        for optimizer, values in zip(optimizers, kept["optimizers"]):
            optimizer.load_state_dict(values)
    rows.index = state["index"]
    return state["step"], state["tokens"]


def train_step(crew, rank: int, model, optimizers, batch, share: float) -> float:
    """One update at a share of the peak rate; returns the loss."""
    ids, weights = batch
    mine = slice(rank, None, crew.workers)
    model.zero_grad(set_to_none=True)
    loss = loss_of(model, (ids[mine], weights[mine])) * weights[mine].sum() / weights.sum()
    loss.backward()
    loss = crew.add_up(rank, model, loss.item())
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    for optimizer in optimizers:
        for group in optimizer.param_groups:
            group["lr"] = group["peak"] * share
        optimizer.step()
    crew.barrier.wait()
    return loss


class Crew:
    """Processes that share the weights: each takes some rows of a batch and updates some layers.

    They meet twice in a step. Threads would meet in each of its operations, and where other
    programs want the cores too, that is a long wait each time.
    """

    def __init__(self, model, workers: int):
        self.workers, self.context = workers, multiprocessing.get_context("fork")
        self.barrier = self.context.Barrier(workers)
        model.share_memory()
        self.parts = torch.zeros(workers, model.parameter_count() + 1).share_memory_()

    def add_up(self, rank: int, model, loss: float) -> float:
        """Makes each gradient the sum of all workers' gradients; returns the sum of the losses."""
        params = list(model.parameters())
        self.parts[rank] = torch.cat([p.grad.flatten() for p in params] + [torch.tensor([loss])])
        self.barrier.wait()
        total = self.parts.sum(0)
        for p, grad in zip(params, total[:-1].split([p.numel() for p in params])):
            p.grad.copy_(grad.view_as(p))
        return total[-1].item()

    def run(self, work):
        """Calls work(rank) in all workers, rank 0 being this process."""
        others = [
            self.context.Process(target=work, args=(rank, ), daemon=True)
            for rank in range(1, self.workers)
        ]
        for other in others:
            other.start()
        work(0)
        for other in others:
            other.join()


def train(o, crew, rank: int, model, tokenizer):
    """The loop; worker 0 also validates, saves and logs."""
    torch.set_num_threads(1)
    folder = Path(o.dir)
    optimizers = make_optimizers(model, o.matrix_lr, o.other_lr, rank, crew.workers)
    rows, held_out = Lessons(tokenizer, SEED, o.drills), Lessons(tokenizer, VALIDATION_SEED)
    checks = [held_out.batch(o.batch, model.cfg.context) for _ in range(5 if rank == 0 else 0)]
    step, tokens = resume(folder, rank, model, optimizers, rows)
    crew.barrier.wait()
    started, recent = time.time(), []
    with open(folder / "log.jsonl" if rank == 0 else os.devnull, "a", encoding="utf-8") as log:
        while step < o.steps:
            share = rate(step, o.knots)
            batch = rows.batch(o.batch, model.cfg.context)
            recent.append(train_step(crew, rank, model, optimizers, batch, share))
            step, tokens = step + 1, tokens + batch[1].numel()
            if rank == 0 and step % 20 == 0:
                print(step,
                      round(sum(recent[-20:]) / len(recent[-20:]), 4),
                      f"{time.time() - started:.0f}s",
                      flush=True)
            if step % o.check_every == 0 or step in (o.steps, o.stop_at):
                save(folder / f"optimizer-{rank}.pt",
                     step=step,
                     optimizers=[x.state_dict() for x in optimizers])
                crew.barrier.wait()
                if rank == 0:
                    note(log,
                         step=step,
                         tokens=tokens,
                         loss=sum(recent) / len(recent),
                         validation=validate(model, checks),
                         share=share,
                         seconds=time.time() - started)
                    save(folder / "checkpoint.pt",
                         step=step,
                         tokens=tokens,
                         index=rows.index,
                         config=model.cfg.as_dict(),
                         model=model.state_dict())
                recent = []
            if step == o.stop_at:
                break


def main():
    o = options()
    torch.set_num_threads(1)
    torch.manual_seed(SEED)
    folder = Path(o.dir)
    folder.mkdir(parents=True, exist_ok=True)
    model = Model(Config())
    if o.origin or o.tokenizer:
        take_tokenizer(o.origin or o.tokenizer, folder)
    tokenizer = load_tokenizer(folder, model.cfg.vocab, 12000)
    if o.origin:
        begin_from(o.origin, model)
    else:
        induction.install(model, Lessons(tokenizer, SEED).sample())
    crew = Crew(model, o.workers)
    crew.run(lambda rank: train(o, crew, rank, model, tokenizer))


if __name__ == "__main__":
    main()
