"""Writes the golden files of tests/golden/latent_families: tiny DeepSeek-V3 models run by Hugging Face
transformers in fp32, by the functions of ../sparse_families/make.py.

Usage: python make.py [case ...]   (torch, transformers >= 5, safetensors, numpy; see origin.md for versions)
"""
import pathlib
import sys

import torch
from transformers import DeepseekV3Config, DeepseekV3ForCausalLM

HERE = pathlib.Path(__file__).parent
sys.path.append(str(HERE.parent))
from sparse_families import make as sparse  # noqa: E402
dense = sparse.dense
drawn_parameters = dense.draw_weights


def draw_weights(model, rng):
    """The selection bias is no parameter, and large enough to change what is chosen."""
    drawn_parameters(model, rng)
    with torch.no_grad():
        for name, buffer in sorted(model.named_buffers()):
            if name.endswith("e_score_correction_bias"):
                buffer.copy_(torch.from_numpy(0.3 * rng.standard_normal(tuple(buffer.shape)).astype("float32")))


dense.draw_weights = draw_weights

LATENT = dict(intermediate_size=20, moe_intermediate_size=9, n_routed_experts=8, n_shared_experts=1,
              num_experts_per_tok=3, num_key_value_heads=4, n_group=4, topk_group=2, first_k_dense_replace=1,
              q_lora_rank=12, kv_lora_rank=10, qk_nope_head_dim=6, qk_rope_head_dim=4, v_head_dim=8,
              num_nextn_predict_layers=0, rope_parameters=dense.PLAIN)
YARN = dict(rope_type="yarn", rope_theta=10000.0, factor=4.0, original_max_position_embeddings=16, beta_fast=32,
            beta_slow=1, mscale=1.0, mscale_all_dim=0.7)


def case(stored, batch, length, **options):
    return stored, dict(config=DeepseekV3Config, model=DeepseekV3ForCausalLM, batch=batch, length=length,
                        options={**LATENT, **options})


CASES = {
    # latents of queries and keys, groups of experts, a dense layer, experts one by one
    "deepseek_v3": case(sparse.one_by_one, 2, 19, num_hidden_layers=3),
    # YaRN with both factors, biases, two shared experts, weights not renormalised, experts fused
    "deepseek_v3_yarn": case(dict, 1, 37, rope_parameters=YARN, attention_bias=True, n_shared_experts=2,
                             norm_topk_prob=False, routed_scaling_factor=1.5, first_k_dense_replace=0),
    # queries without a latent, halves of heads turned, one group, values as wide as keys
    "deepseek_v3_plain": case(sparse.one_by_one, 2, 13, q_lora_rank=None, rope_interleave=False, n_group=1,
                              topk_group=1, v_head_dim=10),
}

if __name__ == "__main__":
    torch.set_num_threads(1)
    for wanted in sys.argv[1:] or CASES:
        stored, chosen = CASES[wanted]
        dense.make_case(wanted, chosen, HERE, stored, sparse.as_parameters, experts_implementation="eager")
