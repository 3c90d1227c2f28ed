"""Writes the golden files of tests/golden/qwen3: tiny Qwen3 models run by Hugging Face transformers in fp32.

Usage: python make.py [case ...]   (torch, transformers >= 5, safetensors, numpy; see origin.md for versions)
"""
import json
import pathlib
import sys

import numpy as np
import torch
from safetensors.numpy import save_file
from transformers import Qwen3Config, Qwen3ForCausalLM, Qwen3MoeConfig, Qwen3MoeForCausalLM
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

HERE = pathlib.Path(__file__).parent
sys.path.append(str(HERE.parent))
from sparse_families import make as sparse  # noqa: E402

numpy_of = sparse.dense.numpy_of

SEED = 20240611

COMMON = dict(
    hidden_size=24, num_attention_heads=4, num_key_value_heads=2, head_dim=10, vocab_size=61,
    max_position_embeddings=64, use_cache=False, initializer_range=0.02,
)
YARN = dict(rope_type="yarn", rope_theta=500.0, factor=4.0, original_max_position_embeddings=16)
DENSE = dict(config=Qwen3Config, model=Qwen3ForCausalLM)
MOE = dict(config=Qwen3MoeConfig, model=Qwen3MoeForCausalLM)
EXPERTS = dict(moe_intermediate_size=9, num_experts=5)
PLAIN = dict(rope_type="default", rope_theta=10000.0)
CASES = {
    # head_dim != hidden / heads, tied embeddings, odd length
    "dense_tied": (dict, dict(
        **DENSE, batch=2, length=13,
        options=dict(intermediate_size=40, num_hidden_layers=2, tie_word_embeddings=True, rope_parameters=PLAIN))),
    # biases, YaRN beyond the original length, another eps
    "dense_bias_yarn": (dict, dict(
        **DENSE, batch=1, length=37,
        options=dict(intermediate_size=40, num_hidden_layers=2, tie_word_embeddings=False, attention_bias=True,
                     rms_norm_eps=1e-3, rope_parameters=YARN))),
    # every layer sparse, renormalised, experts in the file one by one (transformers 4)
    "moe": (sparse.one_by_one, dict(
        **MOE, batch=2, length=37,
        options=dict(**EXPERTS, intermediate_size=40, num_experts_per_tok=2, num_hidden_layers=2,
                     norm_topk_prob=True, tie_word_embeddings=False,
                     rope_parameters=dict(rope_type="default", rope_theta=1000000.0)))),
    # dense and sparse layers mixed, not renormalised, tied, padding id in the input, experts fused in the file
    "moe_mixed": (dict, dict(
        **MOE, batch=2, length=13,
        options=dict(**EXPERTS, intermediate_size=20, num_experts_per_tok=3, num_hidden_layers=4,
                     norm_topk_prob=False, decoder_sparse_step=2, mlp_only_layers=[1], tie_word_embeddings=True,
                     pad_token_id=3, rope_parameters=PLAIN))),
}
ROPES = {
    "default": PLAIN,
    "linear": dict(rope_type="linear", rope_theta=10000.0, factor=2.5),
    "ntk": dict(rope_type="ntk", rope_theta=10000.0, factor=2.5),
    "dynamic": dict(rope_type="dynamic", rope_theta=10000.0, factor=2.0),
    "yarn": YARN,
    "yarn_options": dict(rope_type="yarn", rope_theta=1e6, factor=8.0, original_max_position_embeddings=1024,
                         beta_fast=24.0, beta_slow=2.0, mscale=0.7, mscale_all_dim=0.4, truncate=False),
    "llama3": dict(rope_type="llama3", rope_theta=500000.0, factor=8.0, low_freq_factor=1.0,
                   high_freq_factor=4.0, original_max_position_embeddings=512),
    "longrope": dict(rope_type="longrope", rope_theta=10000.0, factor=4.0, original_max_position_embeddings=16,
                     short_factor=[1 + i / 50 for i in range(16)], long_factor=[1 + i / 3 for i in range(16)]),
    "longrope_derived": dict(rope_type="longrope", rope_theta=500.0, original_max_position_embeddings=32,
                             short_factor=[1.0] * 16, long_factor=[2.0 + i for i in range(16)]),
}
LONG = 100  # tokens, where the frequencies depend on it


def make_rope():
    """Inverse frequencies and the scale of cos and sin for every supported rope_type, and for long sequences."""
    expect = {}
    for name, parameters in ROPES.items():
        if name == "ntk":  # what transformers' dynamic NTK is at factor times the model's length
            length = int(parameters["factor"] * COMMON["max_position_embeddings"])
            config = Qwen3Config(**{**COMMON, "head_dim": 32, "num_hidden_layers": 1}, intermediate_size=8,
                                 rope_parameters=dict(parameters, rope_type="dynamic", factor=1.0))
            inverse, scale = ROPE_INIT_FUNCTIONS["dynamic"](config, seq_len=length)
            expect["ntk"], expect["ntk.scale"] = numpy_of(inverse.float()), np.array([scale], dtype=np.float32)
            continue
        config = Qwen3Config(**{**COMMON, "head_dim": 32, "num_hidden_layers": 1},
                             intermediate_size=8, rope_parameters=dict(parameters))
        if name == "default":
            base, dim = parameters["rope_theta"], 32
            inverse, scale = 1.0 / (base ** (torch.arange(0, dim, 2, dtype=torch.float) / dim)), 1.0
        else:
            inverse, scale = ROPE_INIT_FUNCTIONS[parameters["rope_type"]](config)
        expect[name] = numpy_of(inverse.float())
        expect[f"{name}.scale"] = np.array([scale], dtype=np.float32)
        if parameters["rope_type"] in ("dynamic", "longrope"):
            inverse, _ = ROPE_INIT_FUNCTIONS[parameters["rope_type"]](config, seq_len=LONG)
            expect[f"{name}.long"] = numpy_of(inverse.float())
    save_file(expect, HERE / "rope.safetensors")
    (HERE / "rope.safetensors").chmod(0o644)
    (HERE / "rope.json").write_text(json.dumps(ROPES, indent=1) + "\n")


if __name__ == "__main__":
    torch.set_num_threads(1)
    for wanted in sys.argv[1:] or [*CASES, "rope"]:
        if wanted == "rope":
            make_rope()
            continue
        stored, case = CASES[wanted]
        extra = dict(experts_implementation="eager") if case["config"] is Qwen3MoeConfig else {}
        sparse.dense.make_case(wanted, case, HERE, stored, sparse.as_parameters, SEED, COMMON, **extra)
