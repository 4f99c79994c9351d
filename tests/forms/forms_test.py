"""Logits of small models against the same formulas in float64, written from the publishers'
descriptions.

Usage: forms_test.py [--errors FILE] [FORM...]

With --errors, a JSON file gets the largest error of every architecture."""

import argparse
import json
import pathlib
import sys
import unittest

import numpy as np

import deepseek4
import dense
import encoders
import latent
import mixtures
import openpangu
import recurrent
import rwkv
from made import Made

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "system"))
from support import SystemTest

FORMS = {**deepseek4.FORMS, **dense.FORMS, **encoders.FORMS, **latent.FORMS, **mixtures.FORMS,
         **openpangu.FORMS, **recurrent.FORMS, **rwkv.FORMS}
# Repeated ids, so that attention meets equal tokens at different distances.
IDS = [7, 3, 11, 3, 42, 9, 1, 55, 3, 11, 29, 17, 42, 5, 8, 50, 33, 7, 2, 21]
LONG = {"deepseek4": 140}  # it has a layer that pools 128 tokens
# Sums in another order, and functions that are right to a few units in the last place, may lose two
# bits more than numpy does in float32.
MORE = 4


def nmse(got, want):
    return float(((got - want)**2).sum() / (want**2).sum())


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--errors", type=pathlib.Path)
    parser.add_argument("form", nargs="*")
    return parser.parse_args()


class Forms(SystemTest):
    def weft(self, made, ids):
        model, out = self.folder / "m.gguf", self.folder / "o.npy"
        model.write_bytes(made.file())
        self.runs("weft", *made.command, "-m", model, "--tokens", ",".join(map(str, ids)), "-o",
                  out)
        return np.load(out).astype(np.float64)

    def compare(self, name, errors):
        exact, rough = (Made(name.split()[0], dtype) for dtype in (np.float64, np.float32))
        n = LONG.get(name, len(IDS))
        ids = [(i // len(IDS) + id) % 60 for i, id in enumerate(IDS * 7)][:n]
        want = FORMS[name](exact, ids)
        rounded = FORMS[name](rough, ids).astype(np.float64)
        got = self.weft(exact, ids)
        self.assertEqual(got.shape, want.shape)
        seen = np.isfinite(want)
        error, limit = nmse(got[seen], want[seen]), MORE**2 * nmse(rounded[seen], want[seen])
        print(f"{name}: error {error:.1e}, limit {limit:.1e}")
        errors[exact.name] = max(errors.get(exact.name, 0), error)
        self.assertLess(limit, 1e-9)
        self.assertLess(error, limit)

    def test_forms(self):
        errors = {}
        for name in ARGS.form or FORMS:
            with self.subTest(name):
                self.compare(name, errors)
        if ARGS.errors:
            ARGS.errors.write_text(json.dumps(errors, indent=1))


if __name__ == "__main__":
    ARGS = arguments()
    unittest.main(argv=sys.argv[:1])
