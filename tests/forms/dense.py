"""Forms of decoders without experts."""

import numpy as np

from blocks import attention, decoder, gated_ffn, rope


def ernie4_5(m, ids):
    """transformers, Ernie4_5ForCausalLM: its rotary embedding turns neighbours."""
    return decoder(m, ids, lambda l, x: attention(l, x, [rope(m, adjacent=True)]), gated_ffn,
                   tied=True)


FORMS = {"ernie4_5": ernie4_5}
