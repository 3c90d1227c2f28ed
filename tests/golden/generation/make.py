"""Writes tests/golden/generation/expect.json: what transformers' `generate` makes greedily of the models of the other golden
folders, a prompt at a time, with its cache, in fp32.

Usage: python make.py   (torch, transformers >= 5; see origin.md for versions)
"""
import json
import pathlib

import numpy as np
import torch
from transformers import AutoModelForCausalLM

HERE = pathlib.Path(__file__).parent
SEED = 20251122
GAP = 1e-3  # between the two most likely tokens, at least: no rounding decides

# folder: lengths of prompts, new tokens. RoPE of type dynamic and longrope depends on the length of a sequence:
# those of one folder are all below, or all above, the length from which on it does.
USUAL = ([3, 9, 12], 12)
CASES = {
    "qwen3/dense_tied": USUAL, "qwen3/dense_bias_yarn": USUAL, "qwen3/moe": USUAL, "qwen3/moe_mixed": USUAL,
    "dense_families/llama": USUAL, "dense_families/llama_bias_tied": USUAL, "dense_families/qwen2": USUAL,
    "dense_families/mistral": USUAL, "dense_families/mistral_window": USUAL, "dense_families/qwen2_window": USUAL,
    "dense_families/llama_longrope": ([17, 20, 30], 12), "dense_families/llama_longrope_short": ([3, 8], 8),
    "dense_families/llama_dynamic": USUAL, "dense_families/qwen3_window": USUAL,
    "sparse_families/mixtral": USUAL, "sparse_families/mixtral_fused": USUAL, "sparse_families/qwen2_moe": USUAL,
    "sparse_families/qwen2_moe_mixed": USUAL, "latent_families/deepseek_v3": USUAL,
    "latent_families/deepseek_v3_yarn": USUAL, "latent_families/deepseek_v3_plain": USUAL,
    "qwen3_next/every_fourth": USUAL, "qwen3_next/mixed": USUAL, "gemma3_text/published": USUAL,
    "gemma3_text/capped": USUAL,
}


def greedy(model, prompt, new_tokens):
    made = model.generate(
        torch.tensor([prompt]), do_sample=False, max_new_tokens=new_tokens, min_new_tokens=new_tokens, use_cache=True,
        attention_mask=torch.ones(1, len(prompt), dtype=torch.long), pad_token_id=0, eos_token_id=None,
        output_logits=True, return_dict_in_generate=True)
    tops = torch.stack(made.logits)[:, 0].topk(2).values
    return made.sequences[0, len(prompt):].tolist(), (tops[:, 0] - tops[:, 1]).min().item()


def case(name, lengths, new_tokens):
    model = AutoModelForCausalLM.from_pretrained(HERE.parent / name, dtype=torch.float32, attn_implementation="eager",
                                                 experts_implementation="eager")
    model.eval()
    rng = np.random.default_rng(SEED)
    prompts, tokens = [], []
    for length in lengths:
        gap = 0
        while gap < GAP:
            prompt = rng.integers(4, model.config.vocab_size, length).tolist()
            made, gap = greedy(model, prompt, new_tokens)
        prompts.append(prompt)
        tokens.append(made)
    print(name, tokens[0], gap)
    return dict(prompts=prompts, tokens=tokens)


if __name__ == "__main__":
    expect = {name: case(name, *of) for name, of in CASES.items()}
    lines = [f'"{name}": {json.dumps(of)}' for name, of in expect.items()]
    (HERE / "expect.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")
