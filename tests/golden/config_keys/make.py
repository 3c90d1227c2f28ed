"""Writes expect.json: what transformers takes a config.json of each family for, with no keys but model_type, and with
one of the spellings that published files have: then only what differs.

Usage: python make.py   (torch, transformers >= 5; see origin.md for versions)
"""
import copy
import json
import logging
import pathlib

from transformers import AutoConfig

logging.disable(logging.WARNING)
FAMILIES = ["qwen3_moe", "qwen3", "llama", "qwen2", "mistral", "qwen2_moe", "mixtral", "qwen3_next", "deepseek_v3",
            "gemma3_text", "gpt_oss"]
SPELLINGS = [
    {},
    {"num_key_value_heads": None},
    {"head_dim": None},
    {"rope_theta": 5000.0},
    {"rope_parameters": {"rope_type": "default", "rope_theta": 7000.0}},
    {"rope_theta": 5000.0, "rope_scaling": {"type": "linear", "factor": 2.0}},
    {"rope_theta": 5000.0, "rope_scaling": {"rope_type": "linear", "factor": 2.0}},
    {"rope_theta": 5000.0, "rope_parameters": {"rope_type": "linear", "rope_theta": 7000.0, "factor": 3.0}},
    {"rope_scaling": None},
    {"rope_scaling": {}},
    {"rope_scaling": {"type": "yarn", "factor": 4.0}},
    {"rope_scaling": {"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 1024}},
    {"torch_dtype": "bfloat16"},
    {"dtype": "bfloat16"},
    {"torch_dtype": "float16", "dtype": "bfloat16"},
    {"tie_word_embeddings": True},
    {"tie_word_embeddings": False},
    {"num_experts": 24},
    {"num_local_experts": 24},
    {"n_routed_experts": 24},
    {"sliding_window": 5},
    {"sliding_window": None},
    {"sliding_window": 5, "use_sliding_window": True},
    {"sliding_window": 5, "use_sliding_window": True, "max_window_layers": 1},
    {"sliding_window": 5, "use_sliding_window": False},
    {"sliding_window_pattern": 3},
    {"rms_norm_eps": 1e-5},
]
KEYS = ["vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads",
        "num_key_value_heads", "max_position_embeddings", "rms_norm_eps", "initializer_range", "tie_word_embeddings",
        "moe_intermediate_size", "shared_expert_intermediate_size", "num_experts_per_tok", "norm_topk_prob",
        "decoder_sparse_step", "n_group", "topk_group", "routed_scaling_factor", "first_k_dense_replace",
        "q_lora_rank", "kv_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim", "linear_num_key_heads",
        "linear_num_value_heads", "linear_key_head_dim", "linear_value_head_dim", "linear_conv_kernel_dim",
        "query_pre_attn_scalar", "attention_bias", "qkv_bias", "swiglu_alpha", "swiglu_limit"]


def rope_of(config):
    rope = config.rope_parameters
    if "full_attention" in rope:
        return {"rope": rope_dict(rope["full_attention"]), "window_theta": rope["sliding_attention"]["rope_theta"]}
    return {"rope": rope_dict(rope)}


def rope_dict(rope):
    found = {"rope_type": rope["rope_type"], "rope_theta": rope["rope_theta"]}
    if "factor" in rope:
        found["factor"] = rope["factor"]
    if rope["rope_type"] == "yarn":
        found["original_max_position_embeddings"] = rope["original_max_position_embeddings"]
        found["truncate"] = rope.get("truncate", True)
    return found


def meaning(family, keys):
    config = AutoConfig.for_model(family, **copy.deepcopy(keys))  # transformers writes into what it is given
    found = {key: getattr(config, key) for key in KEYS if hasattr(config, key)}
    if family == "deepseek_v3":  # both are of latent attention
        found.pop("num_key_value_heads")
    else:
        found["head_dim"] = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
        found["num_key_value_heads"] = config.num_key_value_heads or config.num_attention_heads
    found.update(rope_of(config))
    experts = {"mixtral": "num_local_experts", "deepseek_v3": "n_routed_experts"}.get(family, "num_experts")
    if "moe" in family or family in ("mixtral", "deepseek_v3", "qwen3_next", "gpt_oss"):
        found["experts"] = getattr(config, experts)
    found["dtype"] = str(config.dtype or "float32").removeprefix("torch.")
    types = getattr(config, "layer_types", None)
    window = getattr(config, "sliding_window", None)
    layers = config.num_hidden_layers
    if family in ("mistral", "mixtral"):
        slides = [window is not None] * layers
    elif family == "qwen3_moe":
        slides = [bool(config.use_sliding_window and window)] * layers
    elif types and family != "qwen3_next":
        slides = [kind == "sliding_attention" for kind in types]
    else:
        slides = [False] * layers
    found["windows"] = [window if slide else 0 for slide in slides]
    return found


if __name__ == "__main__":
    cases = []
    for family in FAMILIES:
        usual = meaning(family, {})
        cases.append({"family": family, "keys": {}, "expect": usual})
        for keys in SPELLINGS[1:]:
            if family == "qwen3_next" and keys.get("use_sliding_window"):  # refused by name, as the next one
                continue
            if family in ("gemma3_text", "gpt_oss") and keys == {"sliding_window": None}:
                continue
            # transformers passes over these two spellings in Gemma 3, and no published folder has them
            if family == "gemma3_text" and ("rope_parameters" in keys or "type" in (keys.get("rope_scaling") or {})):
                continue
            try:
                found = meaning(family, keys)
            except Exception:  # transformers refuses it
                continue
            changed = {key: value for key, value in found.items() if usual.get(key) != value}
            cases.append({"family": family, "keys": keys, "expect": changed})
    text = ",\n".join(json.dumps(case, sort_keys=True) for case in cases)
    (pathlib.Path(__file__).parent / "expect.json").write_text(f"[\n{text}\n]\n")
