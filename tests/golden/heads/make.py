"""Writes the golden files of tests/golden/heads: a tiny Qwen3 classifier, one of one label, and two tiny Qwen3
without a head, run by Hugging Face transformers in fp32.

Usage: python make.py   (torch, transformers >= 5, safetensors, numpy; see origin.md for versions)
"""
import pathlib
import sys

import numpy as np
import torch
from transformers import Qwen3Config, Qwen3ForSequenceClassification, Qwen3Model

HERE = pathlib.Path(__file__).parent
sys.path.append(str(HERE.parent))
from dense_families.make import draw_weights, numpy_of, write_case  # noqa: E402

SEED = 20251122
OPTIONS = dict(
    hidden_size=24, intermediate_size=40, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, head_dim=8,
    vocab_size=61, max_position_embeddings=64, use_cache=False, pad_token_id=0, bos_token_id=1, eos_token_id=2,
    num_labels=3)
LENGTHS = [9, 13, 4]  # of the samples; the rest is padding


def batch(rng):
    length = max(LENGTHS)
    ids = rng.integers(3, OPTIONS["vocab_size"], (len(LENGTHS), length))
    for sample, count in enumerate(LENGTHS):
        ids[sample, count:] = OPTIONS["pad_token_id"]
    mask = (np.arange(length)[None, :] < np.array(LENGTHS)[:, None]).astype(np.int64)
    last = np.zeros_like(mask)
    last[np.arange(len(LENGTHS)), np.array(LENGTHS) - 1] = 1
    return ids, mask, last


def write(name, model, expect):
    expect |= {f"grad.{key}": numpy_of(parameter.grad) for key, parameter in model.named_parameters()}
    write_case(HERE / name, model, expect)


def classifier(rng, name, key, targets, **more):
    """Of one label: a regressor, as transformers makes of it."""
    config = Qwen3Config(**{**OPTIONS, **more})
    model = Qwen3ForSequenceClassification._from_config(config, attn_implementation="eager", dtype=torch.float32)
    draw_weights(model, rng)
    ids, mask, last = batch(rng)
    output = model(input_ids=torch.from_numpy(ids), attention_mask=torch.from_numpy(mask),
                   labels=torch.from_numpy(targets))
    assert (config.problem_type == "regression") == (config.num_labels == 1), config.problem_type
    output.loss.backward()
    write(name, model, {"input_ids": ids, "pooling_mask": last, key: targets, "logits": numpy_of(output.logits),
                        "loss": numpy_of(output.loss.reshape(1))})


def embedding(rng, name="embedding", **more):
    """The normalised hidden state of the last token, as embedding models made from Qwen3 pool it, and means of the hidden
    states before the last layer over all tokens that are no padding."""
    config = Qwen3Config(**{key: value for key, value in OPTIONS.items() if key != "num_labels"}, **more)
    model = Qwen3Model._from_config(config, attn_implementation="eager", dtype=torch.float32)
    draw_weights(model, rng)
    ids, mask, last = batch(rng)
    weights = torch.from_numpy(mask).float().unsqueeze(-1)
    output = model(input_ids=torch.from_numpy(ids), attention_mask=torch.from_numpy(mask), output_hidden_states=True)
    vectors = torch.nn.functional.normalize(output.last_hidden_state[torch.from_numpy(last).bool()], dim=-1)
    means = torch.stack([(hidden * weights).sum(1) / weights.sum(1) for hidden in output.hidden_states[:-1]])
    factor = torch.from_numpy(rng.standard_normal(tuple(vectors.shape)).astype(np.float32))
    loss = (vectors * factor).sum() + means[1].square().sum()
    loss.backward()
    write(name, model, dict(
        input_ids=ids, pooling_mask=last, hidden_states_agg_mask=mask, embeddings=numpy_of(vectors),
        means=numpy_of(means), factor=numpy_of(factor), loss=numpy_of(loss.reshape(1))))


if __name__ == "__main__":
    torch.set_num_threads(1)
    rng = np.random.default_rng(SEED)
    classifier(rng, "classifier", "classes", np.array([2, 0, 1]))
    embedding(rng)
    classifier(rng, "regressor", "targets", np.array([0.5, -2.25, 7.0], dtype=np.float32), num_labels=1)
    embedding(rng, "embedding_both_ways", is_causal=False)
