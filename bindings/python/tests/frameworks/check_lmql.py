"""LMQL: its backend of llama-cpp-python, without its server."""

import common

SOURCES = ("lmql/src",)


def made():
    from lmql.models.lmtp.backends.llama_cpp_model import LlamaCppModel
    return LlamaCppModel("llama.cpp:" + common.MODEL, n_ctx=512)


def test_generate():
    import numpy as np
    model, steps = made(), []
    ids = np.array([model.llm.tokenize(common.STORY.encode())])
    given = model.generate(ids, None, 0.0, 9, None, lambda tokens, scores: steps.append(tokens))
    common.equal(model.llm.detokenize(given.sequences[0].tolist()).decode(), common.greedy())
    common.equal(given.scores.shape, (9, 1, model.llm.n_vocab()))
    common.equal(len(steps), 8)


def test_bias():
    import numpy as np
    model = made()
    wanted = model.llm.tokenize(b" red", add_bos=False)[0]
    ids = np.array([model.llm.tokenize(b"The fox is")])
    given = model.generate(ids, None, 0.0, 1, [{wanted: 100.0}], lambda tokens, scores: None)
    common.equal(given.sequences[0].tolist(), [wanted])


def test_score():
    import numpy as np
    model = made()
    ids = model.llm.tokenize(common.STORY.encode())
    scores = model.score(np.array([ids]), None)[0]
    answer = model.llm(common.STORY, max_tokens=1, echo=True, logprobs=1, temperature=0)
    logged = answer["choices"][0]["logprobs"]["token_logprobs"]  # without BOS
    assert np.allclose(scores[2:], logged[1:len(ids) - 1], atol=1e-5), (scores, logged)
