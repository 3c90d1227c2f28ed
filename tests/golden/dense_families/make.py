"""Writes the golden files of tests/golden/dense_families: tiny Llama, Qwen2, Qwen3 and Mistral models run by Hugging Face
transformers in fp32.

Usage: python make.py [case ...]   (torch, transformers >= 5, safetensors, numpy; see origin.md for versions)
"""
import pathlib
import sys

import numpy as np
import torch
from safetensors.numpy import save_file
from transformers import (
    LlamaConfig, LlamaForCausalLM, MistralConfig, MistralForCausalLM, Qwen2Config, Qwen2ForCausalLM,
    Qwen3Config, Qwen3ForCausalLM)
from transformers.models.switch_transformers.modeling_switch_transformers import router_z_loss_func

HERE = pathlib.Path(__file__).parent
SEED = 20250117

COMMON = dict(
    hidden_size=24, intermediate_size=40, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
    vocab_size=61, max_position_embeddings=64, use_cache=False, bos_token_id=1, eos_token_id=2,
)
PLAIN = dict(rope_type="default", rope_theta=10000.0)
LLAMA3 = dict(rope_type="llama3", rope_theta=500.0, factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
              original_max_position_embeddings=16)
LONGROPE = dict(rope_type="longrope", rope_theta=500.0, factor=4.0, original_max_position_embeddings=16,
                short_factor=[1.0, 1.1, 1.2, 1.3, 1.4], long_factor=[1.5, 2.0, 3.0, 5.0, 8.0])
CASES = {
    # RoPE of type llama3 beyond the original length, head_dim != hidden / heads
    "llama": dict(config=LlamaConfig, model=LlamaForCausalLM, batch=2, length=37,
                  options=dict(head_dim=10, rope_parameters=LLAMA3)),
    # biases on all projections, tied embeddings, as many key heads as query heads, padding id in the input
    "llama_bias_tied": dict(config=LlamaConfig, model=LlamaForCausalLM, batch=2, length=13,
                            options=dict(attention_bias=True, tie_word_embeddings=True, num_key_value_heads=None,
                                         pad_token_id=3, rms_norm_eps=1e-3, rope_parameters=PLAIN)),
    # biases in the feed-forward blocks
    "llama_mlp_bias": dict(config=LlamaConfig, model=LlamaForCausalLM, batch=2, length=13,
                           options=dict(mlp_bias=True, head_dim=8, rope_parameters=PLAIN)),
    # biases on q, k and v
    "qwen2": dict(config=Qwen2Config, model=Qwen2ForCausalLM, batch=2, length=37,
                  options=dict(rope_parameters=dict(rope_type="default", rope_theta=1000000.0))),
    # no window, one key head
    "mistral": dict(config=MistralConfig, model=MistralForCausalLM, batch=1, length=37,
                    options=dict(sliding_window=None, num_key_value_heads=1, head_dim=8, rope_parameters=PLAIN)),
    # one window for all layers
    "mistral_window": dict(config=MistralConfig, model=MistralForCausalLM, batch=1, length=37,
                           options=dict(sliding_window=5, head_dim=8, rope_parameters=PLAIN)),
    # the last layers have a window
    "qwen2_window": dict(config=Qwen2Config, model=Qwen2ForCausalLM, batch=2, length=29,
                         options=dict(num_hidden_layers=3, use_sliding_window=True, sliding_window=7,
                                      max_window_layers=1, rope_parameters=PLAIN)),
    # RoPE of type longrope, beyond the original length and within it
    "llama_longrope": dict(config=LlamaConfig, model=LlamaForCausalLM, batch=1, length=37,
                           options=dict(head_dim=10, rope_parameters=LONGROPE)),
    "llama_longrope_short": dict(config=LlamaConfig, model=LlamaForCausalLM, batch=2, length=16,
                                 options=dict(head_dim=10, rope_parameters=LONGROPE)),
    # RoPE of type dynamic, beyond the model's length
    "llama_dynamic": dict(config=LlamaConfig, model=LlamaForCausalLM, batch=1, length=37,
                          options=dict(head_dim=10, max_position_embeddings=24, rope_parameters=dict(
                              rope_type="dynamic", rope_theta=500.0, factor=2.0))),
    # named layers have a window
    "qwen3_window": dict(config=Qwen3Config, model=Qwen3ForCausalLM, batch=1, length=29,
                         options=dict(num_hidden_layers=3, head_dim=8, use_sliding_window=True, sliding_window=12,
                                      layer_types=["sliding_attention", "full_attention", "sliding_attention"],
                                      rope_parameters=PLAIN)),
    # attention in both directions, and in windows that reach to both sides
    "llama_both_ways": dict(config=LlamaConfig, model=LlamaForCausalLM, batch=2, length=37,
                            options=dict(is_causal=False, head_dim=10, rope_parameters=PLAIN)),
    "mistral_window_both_ways": dict(config=MistralConfig, model=MistralForCausalLM, batch=1, length=37,
                                     options=dict(is_causal=False, sliding_window=5, head_dim=8,
                                                  rope_parameters=PLAIN)),
    "qwen2_window_both_ways": dict(config=Qwen2Config, model=Qwen2ForCausalLM, batch=2, length=29,
                                   options=dict(is_causal=False, use_sliding_window=True, sliding_window=7,
                                                max_window_layers=1, rope_parameters=PLAIN)),
    "qwen3_both_ways": dict(config=Qwen3Config, model=Qwen3ForCausalLM, batch=2, length=29,
                            options=dict(is_causal=False, head_dim=8, rope_parameters=PLAIN)),
}


def draw_weights(model, rng):
    """Larger than real initial values, so that attention is not near uniform and biases count."""
    with torch.no_grad():
        for name, parameter in sorted(model.named_parameters()):
            values = rng.standard_normal(tuple(parameter.shape)).astype(np.float32)
            values = 1 + 0.2 * values if "norm" in name else 0.3 * values
            parameter.copy_(torch.from_numpy(values))


def numpy_of(tensor):
    return np.ascontiguousarray(tensor.detach().numpy())


def write_case(folder, model, expect, stored=lambda weights: weights):
    """The model as a folder of Hugging Face, and beside it what is expected."""
    folder.mkdir(exist_ok=True)
    model.config.architectures = [type(model).__name__]
    (folder / "config.json").write_text(model.config.to_json_string())
    copies = ("lm_head.weight", "decoder.weight") if model.config.tie_word_embeddings else ()
    weights = {key: numpy_of(tensor) for key, tensor in model.state_dict().items() if key not in copies}
    save_file(stored(weights), folder / "model.safetensors", {"format": "pt"})
    save_file(expect, folder / "expect.safetensors")
    for file in folder.iterdir():
        file.chmod(0o644)
    print(folder.name, "loss", expect["loss"].item(), "bytes", [f.stat().st_size for f in sorted(folder.iterdir())])


def make_case(name, case, here=HERE, stored=lambda weights: weights, split=lambda gradients: gradients, seed=SEED,
              common=COMMON, **extra):
    rng = np.random.default_rng(seed)
    config = case["config"](**{**common, **case["options"]})
    model = case["model"]._from_config(config, attn_implementation="eager", dtype=torch.float32, **extra)
    draw_weights(model, rng)
    ids = rng.integers(0, config.vocab_size, (case["batch"], case["length"]))
    labels = np.concatenate([ids[:, 1:], np.full((case["batch"], 1), -100)], axis=1)
    labels[:, 4:7] = -100
    if config.pad_token_id is not None:
        ids[:, 2] = config.pad_token_id

    outputs = model(input_ids=torch.from_numpy(ids))
    logits = outputs.logits
    target = torch.from_numpy(labels)
    token_loss = torch.nn.functional.cross_entropy(
        logits.flatten(0, 1), target.flatten(), ignore_index=-100, reduction="none").view(target.shape)
    if getattr(config, "output_router_logits", False):  # the mean over the tokens that count has it once
        token_loss = token_loss + config.router_aux_loss_coef * outputs.aux_loss * (target != -100)
    if getattr(config, "router_z_loss_coef", None):  # transformers has it for models of another kind
        z_loss = router_z_loss_func(torch.stack(outputs.router_logits))
        token_loss = token_loss + config.router_z_loss_coef * z_loss * (target != -100)
    loss = token_loss.sum() / (target != -100).sum()
    loss.backward()

    gradients = {f"grad.{key}": numpy_of(parameter.grad) for key, parameter in model.named_parameters()}
    write_case(here / name, model, dict(input_ids=ids, labels=labels, logits=numpy_of(logits),
                                        token_loss=numpy_of(token_loss), loss=numpy_of(loss.reshape(1)),
                                        **split(gradients)), stored)


if __name__ == "__main__":
    torch.set_num_threads(1)
    for wanted in sys.argv[1:] or CASES:
        make_case(wanted, CASES[wanted])
