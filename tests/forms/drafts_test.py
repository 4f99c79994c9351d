"""Logits and features of draft layers (multi-token prediction) against their formulas in float64.

Usage: drafts_test.py [FORM...]"""

import argparse
import pathlib
import sys
import unittest

import numpy as np

import latent
import mixtures
import recurrent
from blocks import (attention, embedded, gated_ffn, layer_norm, linear, residuals, rms_norm,
                    rope)
from made import Made

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "system"))
from support import SystemTest

IDS = [7, 3, 11, 3, 42, 9, 1, 55, 3, 11, 29, 17, 42, 5, 8, 50, 33, 7, 2, 21]
MORE = 4  # as in forms_test.py


def plain_layer_norm(m, name, x):
    return layer_norm(m, name, x, bias=False)


def drafted(form, normed=True, next_normed=True, layer=residuals, norm="nextn.shared_head_norm",
            own=False, kind=rms_norm, output="output", scale=1, **keys):
    """DeepSeek-AI 2024, arXiv:2412.19437, section 2.2: a further layer reads the embedding of a
    token, and the features of the token before it. The model's features and those of the layer are
    hidden states after a norm, or before it. With `own`, the layer has its own matrices at both
    ends, and otherwise the model's. Returns all that draft_graphs writes."""
    def outputs(m, ids):
        form(m, ids)
        m.keys(block_count=m.L + 1, nextn_predict_layers=1, **keys)
        features, l = (m.normed if normed else m.hidden), m.layer(m.L)
        x = embedded(m, ids[1:])
        if own:
            x = l.weight("nextn.embed_tokens.weight", m.V, m.D)[ids[1:]]
        both = np.concatenate([kind(l, "nextn.enorm", x),
                               kind(l, "nextn.hnorm", features[:-1])], axis=1)
        x = layer(l, linear(l, "nextn.eh_proj", both, m.D))
        y = kind(l if norm.startswith(("nextn", "layer")) else m, norm, x)
        w = (l.weight("nextn.shared_head_head.weight", m.V, m.D) if own
             else m.weight(output + ".weight", m.V, m.D))
        return [features, y @ w.T * m.dtype(scale), y if next_normed else x]
    return outputs


def headed(form, normed):
    """Li et al. 2025, arXiv:2503.01840: a head of another file reads the inputs of three layers, and
    the token beside them. vLLM, llama_eagle3.py: the residual goes around the norm of the features,
    or begins behind it."""
    def outputs(m, ids):
        form(m, ids)
        inputs, layers = [embedded(m, ids)], [2, 0, 1]
        for i in range(m.L - 1):
            inputs.append(residuals(m.layer(i), inputs[-1]))
        h = m.head = Made("eagle3", m.dtype)
        h.D, h.L = 32, 1
        h.keys(extract_layers=layers, target_hidden_size=m.D, norm_before_residual=normed)
        g = linear(h, "fc", np.concatenate([inputs[i] for i in layers], axis=1), h.D)
        l, x = h.layer(0), embedded(h, ids[1:])
        n = rms_norm(l, "attn_norm_2", g[:-1])
        both = np.concatenate([rms_norm(l, "attn_norm", x), n], axis=1)
        y = (n if normed else g[:-1]) + attention(l, both, [rope(h, adjacent=True)])
        y = y + gated_ffn(l, rms_norm(l, "ffn_norm", y))
        return [g, linear(h, "output", rms_norm(h, "output_norm", y), h.V), y]
    return outputs


# Which hidden states are features: vLLM, deepseek_mtp.py, glm4_moe_mtp.py (also of GLM-5),
# qwen3_next_mtp.py, exaone_moe_mtp.py, bailing_moe_mtp.py, step3p5_mtp.py; llama.cpp, graph_mtp of
# mimo2.cpp and cohere2moe.cpp.
FORMS = {
    "bailingmoe2": drafted(mixtures.bailingmoe2, norm="layer_output_norm"),
    "bailingmoe3": drafted(recurrent.bailingmoe3, attention__head_count_kv=[0, 0, 0, 1, 1],
                           swiglu_clamp_exp=[0.0] + [0.4] * 4,
                           swiglu_clamp_shexp=[0.0] + [0.3] * 4),
    "cohere2_moe": drafted(mixtures.cohere2_moe, layer=lambda l, x: l.whole(l, x),
                           kind=plain_layer_norm, output="token_embd", scale=0.3,
                           attention__sliding_window_pattern=[0, 1, 1, 1, 0, 0]),
    "deepseek2": drafted(latent.deepseek2, next_normed=False, own=True),
    "exaone-moe": drafted(mixtures.exaone_moe, norm="output_norm",
                          layer=lambda l, x: residuals(l, x, gated_ffn),
                          attention__sliding_window_pattern=[1, 1, 1, 0, 1, 1]),
    "glm-dsa": drafted(latent.glm_dsa, next_normed=False),
    "glm4moe": drafted(mixtures.glm4moe, next_normed=False),
    "hy_v3": drafted(mixtures.hy_v3),
    "mimo2": drafted(mixtures.mimo2, normed=False, next_normed=False, norm="layer_output_norm",
                     layer=lambda l, x: residuals(l, x, gated_ffn),
                     attention__head_count_kv=[2, 4, 4, 4],
                     attention__sliding_window_pattern=[0, 1, 1, 1]),
    "qwen35": drafted(recurrent.qwen35),
    "qwen35moe": drafted(recurrent.qwen35moe, norm="output_norm"),
    "exaone-moe head": headed(mixtures.exaone_moe, normed=False),
    "glm4moe head": headed(mixtures.glm4moe, normed=True),
    "step35": drafted(mixtures.step35, normed=False, next_normed=False,
                      attention__head_count=[4, 6, 6, 6],
                      attention__sliding_window_pattern=[0, 1, 1, 1]),
}


def nmse(got, want):
    return float(((got - want)**2).sum() / (want**2).sum())


class Drafts(SystemTest):
    def weft(self, made):
        model = self.folder / "m.gguf"
        model.write_bytes(made.file())
        files = [model]
        if hasattr(made, "head"):
            files.append(self.folder / "head.gguf")
            files[1].write_bytes(made.head.file())
        out = self.runs("draft_graphs", model, ",".join(map(str, IDS)), *files[1:]).out
        return np.frombuffer(out, dtype=np.float32).astype(np.float64)

    def compare(self, name):
        exact, rough = (Made(name.split()[0], dtype) for dtype in (np.float64, np.float32))
        want = FORMS[name](exact, IDS)
        rounded = FORMS[name](rough, IDS)
        got = np.split(self.weft(exact), np.cumsum([w.size for w in want]))
        self.assertEqual(got.pop().size, 0)
        for what, g, w, r in zip(("features", "logits", "next features"), got, want, rounded):
            error, limit = nmse(g, w.ravel()), MORE**2 * nmse(r.astype(np.float64), w)
            print(f"{name}: {what}: error {error:.1e}, limit {limit:.1e}")
            self.assertLess(limit, 1e-9)
            self.assertLess(error, limit)

    def test_drafts(self):
        for name in ARGS.form or FORMS:
            with self.subTest(name):
                self.compare(name)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("form", nargs="*")
    ARGS = parser.parse_args()
    unittest.main(argv=sys.argv[:1])
