"""Writes the golden files of tests/golden/filled_rows: tiny models with experts run by Hugging Face transformers in fp32
on rows that are filled up, with the attention mask that says so and with their losses on routing.

Usage: python make.py [case ...]   (torch, transformers >= 5, safetensors, numpy; see origin.md for versions)
"""
import pathlib
import sys

import numpy as np
import torch
from transformers import Qwen3MoeConfig, Qwen3MoeForCausalLM
from transformers.models.switch_transformers.modeling_switch_transformers import router_z_loss_func

HERE = pathlib.Path(__file__).parent
sys.path.append(str(HERE.parent))
from qwen3_next import make as qwen3_next  # noqa: E402
sparse = qwen3_next.sparse
dense = sparse.dense

LENGTHS = (13, 5, 1)  # tokens of each row of 13
SMALL = dict(hidden_size=12, num_attention_heads=2, num_key_value_heads=1, head_dim=8, vocab_size=29,
             output_router_logits=True, router_aux_loss_coef=0.4)
CASES = {
    "qwen3_moe": (sparse.one_by_one, Qwen3MoeConfig, Qwen3MoeForCausalLM, dict(
        intermediate_size=10, moe_intermediate_size=6, num_experts=4, num_experts_per_tok=2,
        rope_parameters=dense.PLAIN)),
    "mixtral": (sparse.renamed_block, sparse.MixtralConfig, sparse.MixtralForCausalLM, {
        **sparse.MIXTRAL, "intermediate_size": 6, "num_local_experts": 4, "router_z_loss_coef": 0.2}),
    # dense and sparse layers mixed
    "qwen2_moe": (sparse.one_by_one, sparse.Qwen2MoeConfig, sparse.Qwen2MoeForCausalLM, {
        **sparse.QWEN2, "intermediate_size": 10, "moe_intermediate_size": 6, "shared_expert_intermediate_size": 8,
        "num_hidden_layers": 3, "mlp_only_layers": [1]}),
    "gpt_oss": (dict, sparse.GptOssConfig, sparse.GptOssForCausalLM, {
        **sparse.GPT_OSS, "intermediate_size": 6, "num_local_experts": 4}),
    "qwen3_next": (dict, qwen3_next.Qwen3NextConfig, qwen3_next.Qwen3NextForCausalLM, {
        **qwen3_next.NEXT, **qwen3_next.rope(1.0), "intermediate_size": 10, "moe_intermediate_size": 6,
        "shared_expert_intermediate_size": 8, "layer_types": ["linear_attention", "full_attention"]}),
}


def make_case(name, stored, config_type, model_type, options):
    rng = np.random.default_rng(dense.SEED)
    config = config_type(**{**dense.COMMON, **options, **SMALL})
    model = model_type._from_config(config, attn_implementation="eager", dtype=torch.float32,
                                    experts_implementation="eager")
    dense.draw_weights(model, rng)
    length = max(LENGTHS)
    ids = rng.integers(0, config.vocab_size, (len(LENGTHS), length))
    mask = np.arange(length)[None, :] < np.array(LENGTHS)[:, None]
    labels = np.concatenate([ids[:, 1:], rng.integers(0, config.vocab_size, (len(LENGTHS), 1))], axis=1)
    labels[0, 2:5] = -100  # tokens without a label are tokens all the same
    labels[~mask] = -100
    ids[~mask] = 0

    tokens, target = torch.from_numpy(mask), torch.from_numpy(labels)
    outputs = model(input_ids=torch.from_numpy(ids), attention_mask=tokens.long())
    token_loss = torch.nn.functional.cross_entropy(
        outputs.logits.flatten(0, 1), target.flatten(), ignore_index=-100, reduction="none").view(target.shape)
    more = config.router_aux_loss_coef * outputs.aux_loss
    if getattr(config, "router_z_loss_coef", None):
        rows = [logits.reshape(-1, logits.shape[-1])[tokens.flatten()] for logits in outputs.router_logits]
        more = more + config.router_z_loss_coef * router_z_loss_func(torch.stack(rows))
    loss = token_loss.sum() / (target != -100).sum() + more
    loss.backward()

    # Choices of each expert in each sparse layer, over the tokens alone.
    counts = []
    for logits in outputs.router_logits:
        chosen = logits.reshape(-1, logits.shape[-1])[tokens.flatten()].topk(config.num_experts_per_tok).indices
        counts.append(np.bincount(chosen.flatten().numpy(), minlength=logits.shape[-1]))

    gradients = sparse.split_of(config_type)(
        {f"grad.{key}": dense.numpy_of(parameter.grad) for key, parameter in model.named_parameters()})
    dense.write_case(HERE / name, model, dict(
        input_ids=ids, labels=labels, token_mask=mask.astype(np.int64), loss=dense.numpy_of(loss.reshape(1)),
        expert_tokens=np.stack(counts), **gradients), stored)


if __name__ == "__main__":
    torch.set_num_threads(1)
    for wanted in sys.argv[1:] or CASES:
        make_case(wanted, *CASES[wanted])
