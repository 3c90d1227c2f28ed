"""Writes tests/golden/rare_labels/expect.json: steps in which few tokens count, by models whose loss has more in it than
the cross entropy of these tokens: further tokens that are predicted, the balance and the z-loss of routers.

Usage: python make.py   (torch, transformers >= 5, safetensors, numpy; see origin.md for versions)
"""
import json
import math
import pathlib
import sys

import numpy as np
import torch
from torch.nn.functional import cross_entropy
from transformers import MixtralForCausalLM, Qwen2MoeForCausalLM
from transformers.models.switch_transformers.modeling_switch_transformers import router_z_loss_func

HERE = pathlib.Path(__file__).parent
sys.path.append(str(HERE.parent))
from multi_token_prediction import make as prediction  # noqa: E402

LENGTH = 12  # inputs of a row
# Of each step two rows: which of their tokens count. Token t is the label of input t - 1, and a further label of the
# inputs before. Two ranks share inputs 0-5 and 6-11, or (zigzag) 0-2 with 9-11, and 3-8.
STEPS = [([7], [7]), ([4], [4]), ([10], [10]), ([4], []), ([8, 1], [7]), (list(range(1, LENGTH + 1)), [7])]


def summed(logits, target):
    return cross_entropy(logits.flatten(0, 1), target.flatten(), ignore_index=-100, reduction="sum")


def predicted(model, ids, target):
    """Of a row: the sum of the tokens' losses, and all that the loss has beyond."""
    hidden = model.model(input_ids=ids).last_hidden_state
    further = [prediction.token_losses(model, state, target[:, k:]).sum()
               for k, state in enumerate(prediction.states_of_depths(model, hidden, ids), 1)]
    return summed(model.lm_head(hidden), target), model.config.mtp_loss_factor / len(further) * sum(further)


def balanced(model, ids, target):
    outputs = model(input_ids=ids, output_router_logits=True)
    more = model.config.router_aux_loss_coef * outputs.aux_loss
    if getattr(model.config, "router_z_loss_coef", None):
        more = more + model.config.router_z_loss_coef * router_z_loss_func(torch.stack(outputs.router_logits))
    return summed(outputs.logits, target), more * (target != -100).sum()


def steps_of(model, parts, ids):
    steps = []
    for at, counted in enumerate(STEPS):
        model.zero_grad()
        tokens, plain, more = 0, 0.0, 0.0
        for row, places in zip(ids[2 * at:2 * at + 2], counted):
            target = torch.full((1, LENGTH), -100)
            for place in places:
                target[0, place - 1] = int(row[place])
            own, beyond = parts(model, torch.tensor(row[:LENGTH]).unsqueeze(0), target)
            tokens, plain, more = tokens + len(places), plain + own, more + beyond
        loss = (plain + more) / tokens
        loss.backward()
        norm = math.sqrt(sum(float(p.grad.double().square().sum()) for p in model.parameters() if p.grad is not None))
        steps.append({"loss": loss.item(), "perplexity": math.exp(plain.item() / tokens), "grad_norm": norm})
    return steps


def main():
    torch.set_num_threads(1)
    rng = np.random.default_rng(20261128)
    ids = rng.integers(4, 41, (2 * len(STEPS), LENGTH + 1)).tolist()
    rows = [{"input_ids": row, "labels": [token if t in places else -100 for t, token in enumerate(row)]}
            for row, places in zip(ids, [places for step in STEPS for places in step])]
    options = prediction.CASES["two_depths"][2]
    predicting = prediction.make_model(options, np.random.default_rng(prediction.dense.SEED))
    expect = {"rows": rows, "multi_token_prediction/two_depths": steps_of(predicting, predicted, ids)}
    for name, kind in (("qwen2_moe_balanced", Qwen2MoeForCausalLM), ("mixtral_z_loss", MixtralForCausalLM)):
        model = kind.from_pretrained(HERE.parent / "sparse_families" / name, attn_implementation="eager",
                                     dtype=torch.float32, experts_implementation="eager")
        expect[f"sparse_families/{name}"] = steps_of(model, balanced, ids)
    (HERE / "expect.json").write_text(json.dumps(expect, indent=1) + "\n")


if __name__ == "__main__":
    main()
