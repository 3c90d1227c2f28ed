"""Writes the golden files of tests/golden/bfloat16: tiny models whose weights are bfloat16, run by Hugging Face
transformers in fp64 (the truth) and in bfloat16 (whose error is the measure).

Usage: python make.py [case ...]   (torch, transformers >= 5, safetensors, numpy; see origin.md for versions)
"""
import pathlib
import sys

import numpy as np
import torch
from safetensors.torch import save_file
from transformers import (
    Gemma3ForCausalLM, Gemma3TextConfig, GptOssConfig, GptOssForCausalLM, Qwen3Config, Qwen3ForCausalLM,
    Qwen3MoeConfig, Qwen3MoeForCausalLM)

HERE = pathlib.Path(__file__).parent
sys.path.append(str(HERE.parent))
from gemma3_text import make as gemma3  # noqa: E402
dense = gemma3.dense

LENGTH = 64
# Between the last expert that a token chooses and the first that it does not, in a router's logits: so many times the
# largest error that these have in bfloat16.
MARGIN = 4.0
COMMON = dict(
    hidden_size=40, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
    head_dim=12, vocab_size=61, max_position_embeddings=LENGTH, use_cache=False, bos_token_id=1, eos_token_id=2)
EXPERTS = dict(num_experts_per_tok=2, intermediate_size=16)
CASES = {
    "qwen3": (Qwen3Config, Qwen3ForCausalLM, gemma3.DRAW, dict(rope_parameters=dense.PLAIN)),
    "qwen3_moe": (Qwen3MoeConfig, Qwen3MoeForCausalLM, gemma3.DRAW, dict(
        moe_intermediate_size=16, num_experts=5, norm_topk_prob=True, rope_parameters=dense.PLAIN, **EXPERTS)),
    # Sinks beside the scores, biases everywhere, a clamped SwiGLU, a window in the first layer.
    "gpt_oss": (GptOssConfig, GptOssForCausalLM, gemma3.DRAW, dict(
        num_local_experts=5, sliding_window=9, swiglu_limit=2.0, rope_parameters=dict(
            rope_type="yarn", rope_theta=150.0, factor=4.0, beta_fast=8.0, beta_slow=1.0, truncate=False,
            original_max_position_embeddings=16), **EXPERTS)),
    # Embeddings times sqrt(width), norms whose weights are stored minus 1, four of them in a layer, a softcap.
    "gemma3": (Gemma3TextConfig, Gemma3ForCausalLM, gemma3.draw_weights, dict(
        query_pre_attn_scalar=12, sliding_window=9, final_logit_softcapping=30.0,
        layer_types=["sliding_attention", "full_attention"], **gemma3.rope(10000.0, rope_type="default"))),
}


def model_of(case, dtype, weights=None):
    config_type, model_type, draw, options = CASES[case]
    config = config_type(**{**COMMON, **options})
    extra = dict(experts_implementation="eager") if has_experts(config) else {}
    model = model_type._from_config(config, attn_implementation="eager", dtype=dtype, **extra)
    if weights is None:
        draw(model, np.random.default_rng(dense.SEED))
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.copy_(parameter.bfloat16())
    else:
        model.load_state_dict({name: value.to(dtype) for name, value in weights.items()})
    return model.eval()


def has_experts(config):
    return bool(getattr(config, "num_local_experts", None) or getattr(config, "num_experts", None))


def run(model, ids):
    """-> logits [tokens, V]; those of the routers [layers, tokens, E], None without any"""
    more = dict(output_router_logits=True) if has_experts(model.config) else {}
    with torch.no_grad():
        outputs = model(input_ids=torch.tensor([ids]), **more)
    routers = torch.stack([each.reshape(len(ids), -1) for each in outputs.router_logits]) if more else None
    return outputs.logits[0], routers


def margins(model, routers):
    ordered = routers.sort(dim=-1, descending=True).values
    count = model.config.num_experts_per_tok
    return ordered[..., count - 1] - ordered[..., count]


def tokens_with_margins(model, least, rng):
    """Token by token, each the first of some that every router chooses experts for by at least this margin."""
    ids = []
    for _ in range(LENGTH):
        for candidate in rng.permutation(model.config.vocab_size):
            _, routers = run(model, ids + [int(candidate)])
            if routers is None or margins(model, routers)[:, -1].min() >= least:
                break
        else:
            raise RuntimeError(f"no token has a margin of {least} behind {ids}")
        ids.append(int(candidate))
    return ids


def errors_of(found, truth):
    """-> [largest, root of the mean square]"""
    difference = (found.double() - truth.double()).flatten()
    return torch.tensor([difference.abs().max(), difference.square().mean().sqrt()], dtype=torch.float64)


def make_case(case):
    truth = model_of(case, torch.float64)
    weights = {name: value.bfloat16() for name, value in truth.state_dict().items()}
    half = model_of(case, torch.bfloat16, weights)
    single = model_of(case, torch.float32, weights)
    rng = np.random.default_rng(dense.SEED + 1)
    least = 0.3
    while True:  # the error of the routers is known only with tokens
        ids = tokens_with_margins(truth, least, rng)
        logits, routers = run(truth, ids)
        of_half, routers_of_half = run(half, ids)
        if routers is None:
            break
        error = (routers_of_half.double() - routers).abs().max().item()
        if margins(truth, routers).min() >= MARGIN * error:
            break
        least *= 1.3  # a choice that flips makes all errors behind it larger
    labels = torch.tensor(ids[1:] + [-100])
    labels[4:7] = -100
    counts = labels != -100
    loss = [torch.nn.functional.cross_entropy(each.double(), labels, ignore_index=-100, reduction="none")
            for each in (logits, of_half)]
    expect = dict(
        input_ids=torch.tensor([ids]), labels=labels[None], logits=logits[None].float(), token_loss=loss[0][None],
        loss=(loss[0].sum() / counts.sum()).reshape(1))
    expect["error.logits"] = errors_of(of_half, logits)
    expect["error.token_loss"] = errors_of(loss[1][counts], loss[0][counts])
    said = ""
    if routers is not None:
        count = truth.config.num_experts_per_tok
        chosen, of_half = (each.topk(count).indices.sort().values for each in (routers, routers_of_half))
        assert torch.equal(chosen, of_half), "a router chooses other experts in bfloat16"
        expect["expert_tokens"] = torch.stack(
            [layer.flatten().bincount(minlength=routers.shape[-1]) for layer in chosen])
        said = f"routers: error {error:.3g}, margin {margins(truth, routers).min().item():.3g}"

    folder = HERE / case
    folder.mkdir(exist_ok=True)
    half.config.architectures = [type(half).__name__]
    (folder / "config.json").write_text(half.config.to_json_string())
    stored = {name: value for name, value in weights.items()
              if name != "lm_head.weight" or not truth.config.tie_word_embeddings}
    save_file(stored, folder / "model.safetensors", {"format": "pt"})
    save_file({name: value.contiguous() for name, value in expect.items()}, folder / "expect.safetensors")
    for file in folder.iterdir():
        file.chmod(0o644)
    print(case, "loss", expect["loss"].item(), "logits up to", logits.abs().max().item(), "rms",
          logits.square().mean().sqrt().item(), "error of bfloat16", expect["error.logits"].tolist(), "of its loss",
          expect["error.token_loss"].tolist(), "of fp32", errors_of(run(single, ids)[0], logits).tolist(), said,
          "bytes", [f.stat().st_size for f in sorted(folder.iterdir())])


if __name__ == "__main__":
    torch.set_num_threads(1)
    for wanted in sys.argv[1:] or CASES:
        make_case(wanted)
