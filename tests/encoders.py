"""A tiny encoder of model2vec, written to a folder."""

import numpy as np

from semisvm.tables.encoders import PROBES

WORDS = (["win", "money", "prize", "offer", "cash"], ["lunch", "meeting", "plan", "notes", "team"])


def write_encoder(folder, seed=0, width=4):
    """Write a model of word vectors in which the words of two topics are apart."""
    from model2vec import StaticModel
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import Whitespace

    probes = sorted({word for probe in PROBES for word in probe.split()})
    words = ["[UNK]", *WORDS[0], *WORDS[1], *probes]
    tokenizer = Tokenizer(WordLevel({word: k for k, word in enumerate(words)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = Whitespace()
    vectors = np.random.default_rng(seed).normal(0.0, 0.3, (len(words), width))
    vectors[1:6, 0] += 1.0
    vectors[6:11, 0] -= 1.0
    StaticModel(vectors.astype(np.float32), tokenizer).save_pretrained(str(folder))
    return f"model2vec:{folder}"


def make_mail(n=60, seed=0):
    """Return texts of two topics, in turn."""
    rng = np.random.default_rng(seed)
    return ["the " + " ".join(rng.choice(WORDS[i % 2], 6)) for i in range(n)]
