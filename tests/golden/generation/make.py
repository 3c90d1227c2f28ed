"""Writes tests/golden/generation/expect.json: what transformers' `generate` makes greedily of the models of the other golden
folders, a prompt at a time, with its cache, in fp32; and repetition.json: the same with a repetition_penalty, which counts
the tokens of the prompt as well; and crossing.json: texts that grow beyond the pretrained length.

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
    "sparse_families/qwen2_moe_mixed": USUAL, "sparse_families/gpt_oss": USUAL,
    "sparse_families/gpt_oss_balanced": USUAL, "latent_families/deepseek_v3": USUAL,
    "latent_families/deepseek_v3_yarn": USUAL, "latent_families/deepseek_v3_plain": USUAL,
    "qwen3_next/every_fourth": USUAL, "qwen3_next/mixed": USUAL, "gemma3_text/published": USUAL,
    "gemma3_text/capped": USUAL,
}


# Texts that begin, cross or are beyond the pretrained length of longrope, 16: transformers turns each new token by the
# length of its text up to it, and leaves the keys of its cache as they are.
CROSSING = {"dense_families/llama_longrope": ([3, 10, 15, 16, 20], 12)}

# folder: penalty; below 1 it rewards what was there already.
PENALTIES = {"qwen3/dense_tied": 1.3, "qwen3/moe": 1.5, "dense_families/llama": 0.8, "gemma3_text/capped": 2.0,
             "latent_families/deepseek_v3": 1.2, "qwen3_next/mixed": 1.7}


def greedy(model, prompt, new_tokens, **more):
    made = model.generate(
        torch.tensor([prompt]), do_sample=False, max_new_tokens=new_tokens, min_new_tokens=new_tokens, use_cache=True,
        attention_mask=torch.ones(1, len(prompt), dtype=torch.long), pad_token_id=0, eos_token_id=None,
        output_scores=True, return_dict_in_generate=True, **more)
    tops = torch.stack(made.scores)[:, 0].topk(2).values  # behind all processors
    return made.sequences[0, len(prompt):].tolist(), (tops[:, 0] - tops[:, 1]).min().item()


def case(name, lengths, new_tokens, **more):
    model = AutoModelForCausalLM.from_pretrained(HERE.parent / name, dtype=torch.float32, attn_implementation="eager",
                                                 experts_implementation="eager")
    model.eval()
    rng = np.random.default_rng(SEED)
    prompts, tokens = [], []
    for length in lengths:
        gap = 0
        while gap < GAP:
            prompt = rng.integers(4, model.config.vocab_size, length).tolist()
            made, gap = greedy(model, prompt, new_tokens, **more)
        prompts.append(prompt)
        tokens.append(made)
    print(name, tokens[0], gap)
    return dict(prompts=prompts, tokens=tokens, **more)


def write(name, expect):
    lines = [f'"{name}": {json.dumps(of)}' for name, of in expect.items()]
    (HERE / name).write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    write("crossing.json", {name: case(name, *of) for name, of in CROSSING.items()})
    write("expect.json", {name: case(name, *of) for name, of in CASES.items()})
    write("repetition.json", {name: case(name, *CASES[name], repetition_penalty=penalty)
                              for name, penalty in PENALTIES.items()})
