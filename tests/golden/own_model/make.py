"""Writes the golden files of tests/golden/own_model: the family of examples/own_model, made of the modules of Hugging
Face's Qwen3 mixture in fp32 by the functions of ../sparse_families/make.py. Only the order of a layer is ours.

Usage: python make.py [case ...]   (torch, transformers >= 5, safetensors, numpy; see origin.md for versions)
"""
import json
import pathlib
import sys

import torch
from transformers import Qwen3MoeConfig, Qwen3MoeForCausalLM
from transformers.models.qwen3_moe import modeling_qwen3_moe

HERE = pathlib.Path(__file__).parent
sys.path.append(str(HERE.parent))
from sparse_families import make as sparse  # noqa: E402


def parallel_forward(self, hidden_states, **others):
    normed = self.input_layernorm(hidden_states)
    attended, _ = self.self_attn(hidden_states=normed, **others)
    mixed = self.mlp(normed)
    mixed = mixed[0] if isinstance(mixed, tuple) else mixed
    return hidden_states + self.branch_scale * (attended + mixed)


class ParallelMoeForCausalLM(Qwen3MoeForCausalLM):
    def __init__(self, config):
        super().__init__(config)
        for layer in self.model.layers:
            del layer.post_attention_layernorm
            layer.branch_scale = config.branch_scale


modeling_qwen3_moe.Qwen3MoeDecoderLayer.forward = parallel_forward


def in_folder(tensors):
    """The names of the family's folders; gradients likewise."""
    out = {}
    for name, value in sparse.one_by_one(tensors).items():
        for ours, theirs in ((".input_layernorm.", ".norm."), (".self_attn.", ".attn."), (".mlp.", ".ffn."),
                             (".gate_proj.", ".w1."), (".up_proj.", ".w3."), (".down_proj.", ".w2.")):
            name = name.replace(ours, theirs)
        out[name] = value
    return out


SIZES = dict(moe_intermediate_size=9, num_experts=5, num_experts_per_tok=2, norm_topk_prob=True, decoder_sparse_step=2,
             head_dim=8, rope_parameters=sparse.dense.PLAIN)
CASES = {
    # layer 1 has experts
    "parallel": dict(config=Qwen3MoeConfig, model=ParallelMoeForCausalLM, batch=2, length=19,
                     options={**SIZES, "branch_scale": 0.7}),
    # with the load balancing loss, a tied head, one key head
    "balanced": dict(config=Qwen3MoeConfig, model=ParallelMoeForCausalLM, batch=2, length=13,
                     options={**SIZES, "output_router_logits": True, "router_aux_loss_coef": 0.3, "branch_scale": 1.0,
                              "tie_word_embeddings": True, "num_key_value_heads": 1}),
}

if __name__ == "__main__":
    torch.set_num_threads(1)
    for wanted in sys.argv[1:] or CASES:
        sparse.dense.make_case(wanted, CASES[wanted], HERE, in_folder, in_folder, experts_implementation="eager")
        file = HERE / wanted / "config.json"
        keys = json.loads(file.read_text())
        keys["model_type"], keys["num_experts"] = "parallel_moe", keys.pop("num_local_experts")
        for unread in ("mlp_only_layers", "mlp_bias", "max_window_layers"):
            keys.pop(unread, None)
        file.write_text(json.dumps(keys, indent=2, sort_keys=True) + "\n")
