"""Forms of encoders under the names of their publishers' tensors: what the classes of transformers
compute for one text."""

import math

import numpy as np

from blocks import attend, gelu_erf, layer_norm, linear


def bert(m, ids, types=None, prefix="", first_position=0):
    """BertModel, and XLMRobertaModel, whose positions begin behind that of padding (Devlin et al.
    2018, arXiv:1810.04805; Conneau et al. 2019, arXiv:1911.02116): the last hidden states."""
    e = prefix + "embeddings."
    end = first_position + len(ids)
    words = m.weight(e + "word_embeddings.weight", m.V, m.D)[ids]
    positions = m.weight(e + "position_embeddings.weight", m.c["max_position_embeddings"], m.D)
    kinds = m.weight(e + "token_type_embeddings.weight", m.c["type_vocab_size"], m.D)
    x = words + positions[first_position:end] + kinds[types or [0] * len(ids)]
    x = layer_norm(m, e + "LayerNorm", x)
    for i in range(m.L):
        l = f"{prefix}encoder.layer.{i}."
        q, k, v = (linear(m, f"{l}attention.self.{part}", x, m.D, bias=True)
                   .reshape(len(ids), m.H, m.E) for part in ("query", "key", "value"))
        y = attend(q, k, v, 1 / math.sqrt(m.E), True).reshape(len(ids), m.D)
        y = linear(m, l + "attention.output.dense", y, m.D, bias=True)
        x = layer_norm(m, l + "attention.output.LayerNorm", x + y)
        y = gelu_erf(linear(m, l + "intermediate.dense", x, m.F, bias=True))
        y = linear(m, l + "output.dense", y, m.D, bias=True)
        x = layer_norm(m, l + "output.LayerNorm", x + y)
    return x


def pooled_first(m, x, prefix):
    """BertPooler."""
    return np.tanh(linear(m, prefix + "pooler.dense", x[:1], m.D, bias=True))


def bert_score(m, ids, types):
    """BertForSequenceClassification."""
    x = bert(m, ids, types, "bert.")
    return linear(m, "classifier", pooled_first(m, x, "bert."), 1, bias=True)[0]


def normalized(x):
    return x / np.sqrt((x * x).sum())
