"""Writes the golden files of tests/golden/sparse_families: tiny Mixtral, Qwen2-MoE and GPT-OSS models run by Hugging
Face transformers in fp32, by the functions of ../dense_families/make.py.

Usage: python make.py [case ...]   (torch, transformers >= 5, safetensors, numpy; see origin.md for versions)
"""
import pathlib
import sys

import numpy as np
import torch
from transformers import (
    GptOssConfig, GptOssForCausalLM, MixtralConfig, MixtralForCausalLM, Qwen2MoeConfig, Qwen2MoeForCausalLM)

HERE = pathlib.Path(__file__).parent
sys.path.append(str(HERE.parent))
from dense_families import make as dense  # noqa: E402

MIXTRAL = dict(intermediate_size=11, num_local_experts=5, num_experts_per_tok=2, head_dim=8,
               rope_parameters=dense.PLAIN)
QWEN2 = dict(intermediate_size=20, moe_intermediate_size=9, shared_expert_intermediate_size=14, num_experts=5,
             num_experts_per_tok=2, rope_parameters=dense.PLAIN)
# As published, but for its sizes: the correction range of YaRN is not rounded. A small limit clamps many values.
GPT_OSS = dict(intermediate_size=11, num_local_experts=5, num_experts_per_tok=2, head_dim=8, sliding_window=5,
               swiglu_limit=0.7, rope_parameters=dict(
                   rope_type="yarn", rope_theta=100.0, factor=4.0, beta_fast=4.0, beta_slow=1.0, truncate=False,
                   original_max_position_embeddings=16))


def renamed_block(weights):
    """As transformers 4 stores Mixtral: another block name, experts one by one."""
    out = {}
    for name, value in one_by_one(weights).items():
        name = name.replace(".mlp.", ".block_sparse_moe.")
        for ours, theirs in (("gate_proj", "w1"), ("up_proj", "w3"), ("down_proj", "w2")):
            name = name.replace(f".{ours}.weight", f".{theirs}.weight")
        out[name] = value
    return out


def one_by_one(weights):
    out = {}
    for name, value in weights.items():
        prefix = name.rpartition(".")[0]
        if name.endswith("experts.gate_up_proj"):
            for expert, both in enumerate(value):
                for part, half in zip(("gate_proj", "up_proj"), np.split(both, 2)):
                    out[f"{prefix}.{expert}.{part}.weight"] = np.ascontiguousarray(half)
        elif name.endswith("experts.down_proj"):
            for expert, down in enumerate(value):
                out[f"{prefix}.{expert}.down_proj.weight"] = np.ascontiguousarray(down)
        else:
            out[name] = value
    return out


def as_parameters(gradients):
    """Of all experts in one tensor, gate and up apart."""
    out = {}
    for name, value in gradients.items():
        if name.endswith("experts.gate_up_proj"):
            for part, half in zip(("gate_proj", "up_proj"), np.split(value, 2, axis=1)):
                out[f"{name.removesuffix('gate_up_proj')}{part}.weight"] = np.ascontiguousarray(half)
        elif name.endswith("experts.down_proj"):
            out[f"{name}.weight"] = value
        else:
            out[name] = value
    return out


def as_gpt_oss_parameters(gradients):
    """A projection of all experts is [E, out, in], with a bias; the router is called gate."""
    out = {}
    for name, value in gradients.items():
        name = name.replace(".mlp.router.", ".mlp.gate.")
        if name.endswith(("experts.gate_up_proj", "experts.down_proj")):
            name, value = name + ".weight", np.ascontiguousarray(value.swapaxes(1, 2))
        out[name.replace("_proj_bias", "_proj.bias")] = value
    return out


def split_of(config):
    return as_gpt_oss_parameters if config is GptOssConfig else as_parameters


CASES = {
    # experts one by one, as transformers 4 names them
    "mixtral": (renamed_block, dict(config=MixtralConfig, model=MixtralForCausalLM, batch=2, length=19,
                                    options=MIXTRAL)),
    # experts fused, a window
    "mixtral_fused": (dict, dict(config=MixtralConfig, model=MixtralForCausalLM, batch=1, length=29,
                                 options={**MIXTRAL, "sliding_window": 9})),
    # a shared expert in every layer, experts one by one
    "qwen2_moe": (one_by_one, dict(config=Qwen2MoeConfig, model=Qwen2MoeForCausalLM, batch=2, length=19,
                                   options=QWEN2)),
    # dense and sparse layers mixed, renormalised, no biases, windows, tied embeddings, experts fused
    "qwen2_moe_mixed": (dict, dict(
        config=Qwen2MoeConfig, model=Qwen2MoeForCausalLM, batch=1, length=29,
        options={**QWEN2, "num_hidden_layers": 4, "decoder_sparse_step": 2, "mlp_only_layers": [3],
                 "norm_topk_prob": True, "qkv_bias": False, "use_sliding_window": True, "sliding_window": 6,
                 "tie_word_embeddings": True})),
    # with the load balancing loss, over two sparse layers of three
    "qwen2_moe_balanced": (one_by_one, dict(
        config=Qwen2MoeConfig, model=Qwen2MoeForCausalLM, batch=2, length=19,
        options={**QWEN2, "num_hidden_layers": 3, "mlp_only_layers": [1], "output_router_logits": True,
                 "router_aux_loss_coef": 0.3})),
    # with the z-loss of the routers
    "mixtral_z_loss": (renamed_block, dict(
        config=MixtralConfig, model=MixtralForCausalLM, batch=2, length=19,
        options={**MIXTRAL, "output_router_logits": True, "router_aux_loss_coef": 0.0, "router_z_loss_coef": 0.2})),
    # windows in every other layer
    "gpt_oss": (dict, dict(config=GptOssConfig, model=GptOssForCausalLM, batch=2, length=37, options=GPT_OSS)),
    # with the load balancing loss, no biases in attention, named layers, another gain, one token id for padding
    "gpt_oss_balanced": (dict, dict(
        config=GptOssConfig, model=GptOssForCausalLM, batch=2, length=19,
        options={**GPT_OSS, "num_experts_per_tok": 3, "attention_bias": False,
                 "layer_types": ["full_attention", "sliding_attention"], "swiglu_alpha": 1.1,
                 "swiglu_limit": 7.0, "pad_token_id": 3, "output_router_logits": True, "router_aux_loss_coef": 0.3})),
    # attention in both directions, and in windows that reach to both sides
    "gpt_oss_both_ways": (dict, dict(config=GptOssConfig, model=GptOssForCausalLM, batch=1, length=29,
                                     options={**GPT_OSS, "is_causal": False})),
}

if __name__ == "__main__":
    torch.set_num_threads(1)
    for wanted in sys.argv[1:] or CASES:
        stored, case = CASES[wanted]
        dense.make_case(wanted, case, HERE, stored, split_of(case["config"]), experts_implementation="eager")
