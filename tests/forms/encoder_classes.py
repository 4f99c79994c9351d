"""Forms of encoders under the names of their publishers' tensors: what the classes of transformers
compute for one text."""

import math

import numpy as np

from blocks import attend, gelu_erf, layer_norm, linear, mask, rope


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


def xlm_roberta_score(m, ids, types):
    """XLMRobertaForSequenceClassification: no pooler, two layers on the first token. Positions
    begin behind that of padding."""
    x = bert(m, ids, types, "roberta.", m.c["pad_token_id"] + 1)[:1]
    x = np.tanh(linear(m, "classifier.dense", x, m.D, bias=True))
    return linear(m, "classifier.out_proj", x, 1, bias=True)[0]


def modern_bert(m, ids):
    """ModernBertModel (Warner et al. 2024, arXiv:2412.13663): the first of every few layers sees
    all tokens, the others those at most half of local_attention away. The embeddings are normed,
    so layer 0 has no norm before attention."""
    m.T = len(ids)
    x = m.weight("model.embeddings.tok_embeddings.weight", m.V, m.D)[ids]
    x = layer_norm(m, "model.embeddings.norm", x, bias=False)
    for i in range(m.L):
        l, local = f"model.layers.{i}.", i % m.c["global_attn_every_n_layers"] != 0
        y = x if i == 0 else layer_norm(m, l + "attn_norm", x, bias=False)
        qkv = linear(m, l + "attn.Wqkv", y, 3 * m.D).reshape(m.T, 3, m.H, m.E)
        turned = rope(m, base=m.c["local_rope_theta" if local else "global_rope_theta"])
        y = attend(turned(qkv[:, 0], "q"), turned(qkv[:, 1], "k"), qkv[:, 2], 1 / math.sqrt(m.E),
                   mask(m, m.c["local_attention"] if local else None, causal=False))
        x = x + linear(m, l + "attn.Wo", y.reshape(m.T, m.D), m.D)
        y = linear(m, l + "mlp.Wi", layer_norm(m, l + "mlp_norm", x, bias=False), 2 * m.F)
        gate, up = np.split(y, 2, axis=1)
        x = x + linear(m, l + "mlp.Wo", gelu_erf(gate) * up, m.D)
    return layer_norm(m, "model.final_norm", x, bias=False)


def modern_bert_score(m, ids, types):
    """ModernBertForSequenceClassification with classifier_pooling "mean"."""
    x = modern_bert(m, ids).mean(axis=0, keepdims=True)
    x = layer_norm(m, "head.norm", gelu_erf(linear(m, "head.dense", x, m.D)), bias=False)
    return linear(m, "classifier", x, 1, bias=True)[0]
