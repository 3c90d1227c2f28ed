"""Writes the golden files of tests/golden/gemma3_text: tiny Gemma 3 models run by Hugging Face transformers in fp32,
by the functions of ../dense_families/make.py.

Usage: python make.py [case ...]   (torch, transformers >= 5, safetensors, numpy; see origin.md for versions)
"""
import json
import pathlib
import sys

import torch
from transformers import Gemma3ForCausalLM, Gemma3TextConfig

HERE = pathlib.Path(__file__).parent
sys.path.append(str(HERE.parent))
from dense_families import make as dense  # noqa: E402
DRAW = dense.draw_weights


def draw_weights(model, rng):
    DRAW(model, rng)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "norm" in name:  # zero-centred
                parameter.sub_(1)


dense.draw_weights = draw_weights


def rope(sliding_theta, **full):
    return dict(rope_parameters=dict(full_attention=dict(rope_theta=40000.0, **full),
                                     sliding_attention=dict(rope_type="default", rope_theta=sliding_theta)))


CASES = {
    # as published: tied, linear RoPE scaling of the full layers, layer_types
    "published": dict(config=Gemma3TextConfig, model=Gemma3ForCausalLM, batch=2, length=37,
                      options=dict(num_hidden_layers=3, head_dim=8, query_pre_attn_scalar=10, sliding_window=5,
                                   eos_token_id=[1, 3], **rope(10000.0, rope_type="linear", factor=8.0),
                                   layer_types=["sliding_attention", "full_attention", "sliding_attention"])),
    # the keys of transformers 4, biases, a softcap of the logits, its own head, one key head
    "capped": dict(config=Gemma3TextConfig, model=Gemma3ForCausalLM, batch=1, length=29,
                   options=dict(num_hidden_layers=4, head_dim=6, query_pre_attn_scalar=6, sliding_window=12,
                                attention_bias=True, tie_word_embeddings=False, final_logit_softcapping=4.0,
                                num_key_value_heads=1, pad_token_id=None, rms_norm_eps=1e-3,
                                **rope(500.0, rope_type="default"),
                                layer_types=["sliding_attention", "full_attention"] * 2)),
    # attention in both directions by the key of this family, which halves the window for either side
    "both_ways": dict(config=Gemma3TextConfig, model=Gemma3ForCausalLM, batch=1, length=29,
                      options=dict(head_dim=8, query_pre_attn_scalar=10, sliding_window=9,
                                   use_bidirectional_attention=True, **rope(500.0, rope_type="default"),
                                   layer_types=["sliding_attention", "full_attention"])),
}


def as_transformers_4(file):
    """Rewrites a config.json with the keys that version has, and checks that this version reads the same model."""
    config = json.loads(file.read_text())
    ropes, types = config.pop("rope_parameters"), config.pop("layer_types")
    config.update(rope_theta=ropes["full_attention"]["rope_theta"], rope_scaling=None,
                  rope_local_base_freq=ropes["sliding_attention"]["rope_theta"], sliding_window_pattern=2)
    file.write_text(json.dumps(config, indent=2, sort_keys=True) + "\n")
    again = Gemma3TextConfig.from_pretrained(file.parent)
    assert again.rope_parameters == ropes and again.layer_types == types, again


if __name__ == "__main__":
    torch.set_num_threads(1)
    for wanted in sys.argv[1:] or CASES:
        dense.make_case(wanted, CASES[wanted], HERE)
        if wanted == "capped":
            as_transformers_4(HERE / wanted / "config.json")
