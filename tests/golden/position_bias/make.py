"""Slopes of Bloom's ALiBi, and buckets and biases of T5's relative positions, from transformers.

Writes expect.json. Run: python make.py   (the versions are in origin.md)
"""
import json
import pathlib

import torch
from transformers import T5Config
from transformers.models.bloom.modeling_bloom import build_alibi_tensor
from transformers.models.t5.modeling_t5 import T5Attention

HERE = pathlib.Path(__file__).parent
HEADS = [1, 2, 3, 4, 5, 6, 7, 8, 12, 14, 16, 20, 24, 32, 40, 71, 112]
BUCKETS = [(32, 128, True), (32, 128, False), (8, 20, True), (8, 20, False), (6, 50, True), (64, 1000, False)]
REACH = 300


def slopes(heads):
    # The bias of key 1 is its slope; that of key 0 is zero.
    return build_alibi_tensor(torch.ones(1, 2), heads, torch.float32)[:, 0, 1].tolist()


def buckets(count, longest, both_ways):
    distances = torch.arange(-REACH, REACH + 1)
    return T5Attention._relative_position_bucket(distances, both_ways, count, longest).tolist()


def bias(both_ways):
    torch.manual_seed(1)
    config = T5Config(d_model=4, d_kv=2, num_heads=3, relative_attention_num_buckets=8,
                      relative_attention_max_distance=20, is_decoder=not both_ways)
    block = T5Attention(config, has_relative_attention_bias=True, layer_idx=0)
    torch.nn.init.normal_(block.relative_attention_bias.weight)
    table = block.relative_attention_bias.weight
    values = block.compute_bias(6, 9, past_seen_tokens=3)  # queries 3 to 8 of a row of 9 tokens
    upstream = torch.randn_like(values)
    values.backward(upstream)
    return {"table": table.tolist(), "bias": values.tolist(), "upstream": upstream.tolist(),
            "gradient": table.grad.tolist()}


def main():
    out = {
        "slopes": {str(heads): slopes(heads) for heads in HEADS},
        "reach": REACH,
        "buckets": [{"buckets": n, "longest": longest, "both_ways": both, "of": buckets(n, longest, both)}
                    for n, longest, both in BUCKETS],
        "biases": {"both_ways": bias(True), "causal": bias(False)},
    }
    (HERE / "expect.json").write_text(json.dumps(out) + "\n")


if __name__ == "__main__":
    main()
