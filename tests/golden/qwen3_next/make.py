"""Writes the golden files of tests/golden/qwen3_next: tiny Qwen3-Next models run by Hugging Face transformers in
fp32, by the functions of ../dense_families/make.py and ../sparse_families/make.py.

Usage: python make.py [case ...]   (torch, transformers >= 5, safetensors, numpy; see origin.md for versions)
"""
import pathlib
import sys

import torch
from transformers import Qwen3NextConfig, Qwen3NextForCausalLM

HERE = pathlib.Path(__file__).parent
sys.path.append(str(HERE.parent))
from sparse_families import make as sparse  # noqa: E402

NEXT = dict(intermediate_size=20, moe_intermediate_size=9, shared_expert_intermediate_size=14, num_experts=5,
            num_experts_per_tok=2, head_dim=8, linear_num_key_heads=2, linear_num_value_heads=4,
            linear_key_head_dim=8, linear_value_head_dim=6, linear_conv_kernel_dim=4, rms_norm_eps=1e-3)
DRAW = sparse.dense.draw_weights


def draw_weights(model, rng):
    """Smaller than those of the other families: keys of unit length and a norm behind each state multiply rounding,
    and with those weights transformers' fp32 logits miss its fp64 ones by 3e-4."""
    DRAW(model, rng)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "norm" not in name:
                parameter.mul_(0.5)
            elif "linear_attn" not in name:  # zero-centred
                parameter.sub_(1)


sparse.dense.draw_weights = draw_weights


def rope(share, **more):
    return dict(rope_parameters=dict(rope_type="default", rope_theta=10000.0, partial_rotary_factor=share, **more))


CASES = {
    # every fourth layer has attention, sequences are longer than a chunk, experts one by one
    "every_fourth": (sparse.one_by_one, dict(
        config=Qwen3NextConfig, model=Qwen3NextForCausalLM, batch=1, length=66,
        options={**NEXT, **rope(0.5), "num_hidden_layers": 4, "max_position_embeddings": 80, "vocab_size": 37,
                 "num_experts": 4, "moe_intermediate_size": 4, "shared_expert_intermediate_size": 6})),
    # layer_types, dense and sparse layers mixed, not renormalised, biases, tied embeddings, experts fused, as many
    # value heads as key heads, the balance loss, a whole rotary embedding
    "mixed": (dict, dict(
        config=Qwen3NextConfig, model=Qwen3NextForCausalLM, batch=2, length=19,
        options={**NEXT, **rope(1.0), "num_hidden_layers": 3, "decoder_sparse_step": 1, "mlp_only_layers": [1],
                 "layer_types": ["full_attention", "linear_attention", "linear_attention"],
                 "norm_topk_prob": False, "attention_bias": True, "tie_word_embeddings": True,
                 "linear_num_value_heads": 2, "linear_conv_kernel_dim": 3, "output_router_logits": True,
                 "router_aux_loss_coef": 0.3})),
}

if __name__ == "__main__":
    torch.set_num_threads(1)
    for wanted in sys.argv[1:] or CASES:
        stored, case = CASES[wanted]
        sparse.dense.make_case(wanted, case, HERE, stored, sparse.as_parameters, experts_implementation="eager")
