"""Writes the golden files of tests/golden/modernbert: tiny ModernBERT models run by Hugging Face transformers in fp32.

Usage: python make.py [case ...]   (torch, transformers >= 5, safetensors, numpy; see origin.md for versions)
"""
import json
import pathlib
import sys

import numpy as np
import torch
from transformers import ModernBertConfig, ModernBertForMaskedLM, ModernBertForSequenceClassification, ModernBertModel

HERE = pathlib.Path(__file__).parent
sys.path.append(str(HERE.parent))
from dense_families import make as dense  # noqa: E402

COMMON = dict(hidden_size=24, intermediate_size=20, num_hidden_layers=4, num_attention_heads=3, vocab_size=47,
              max_position_embeddings=64, bos_token_id=1, eos_token_id=2, cls_token_id=1, sep_token_id=2,
              pad_token_id=0)
MASK = 3
CASES = {
    # as published: tied, a bias for each word, two of three layers with a window smaller than the rows
    "modernbert": dict(model=ModernBertForMaskedLM, lengths=[29, 29], options=dict(local_attention=8)),
    # rows that are filled up, an odd window, other thetas, layers named one by one, every bias, a matrix of its own
    "modernbert_padded": dict(model=ModernBertForMaskedLM, lengths=[23, 9, 1],
                   options=dict(local_attention=7, num_hidden_layers=3, attention_bias=True, mlp_bias=True,
                                classifier_bias=True, tie_word_embeddings=False, norm_eps=1e-3,
                                layer_types=["sliding_attention", "full_attention", "sliding_attention"],
                                rope_parameters=dict(
                                    full_attention=dict(rope_type="linear", rope_theta=900.0, factor=2.0),
                                    sliding_attention=dict(rope_type="default", rope_theta=50.0)))),
    # no bias of words, all layers alike
    "modernbert_full": dict(model=ModernBertForMaskedLM, lengths=[17], options=dict(
        num_hidden_layers=2, decoder_bias=False, layer_types=["full_attention", "full_attention"])),
    # a class of each row by its first token
    "classifier": dict(model=ModernBertForSequenceClassification, lengths=[19, 11],
                       options=dict(local_attention=6, num_hidden_layers=3, num_labels=3)),
    # the body alone
    "body": dict(model=ModernBertModel, lengths=[19, 11], options=dict(local_attention=6, num_hidden_layers=2)),
}
# (what transformers has, what d9d has), in which {} is the number of a layer; several names: rows one after the other
NAMES = {
    "model.embeddings.tok_embeddings": ["model.embed_tokens"], "model.embeddings.norm": ["model.embed_norm"],
    "model.final_norm": ["model.norm"], "decoder": ["lm_head"], "classifier": ["score"],
    "attn_norm": ["input_layernorm"], "mlp_norm": ["post_attention_layernorm"],
    "attn.Wqkv": ["self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"], "attn.Wo": ["self_attn.o_proj"],
    "mlp.Wi": ["mlp.gate_proj", "mlp.up_proj"], "mlp.Wo": ["mlp.down_proj"],
}


def ours(name, values):
    """The parts of a tensor under d9d's names."""
    if name.split(".")[0] in ("embeddings", "layers", "final_norm"):
        name = "model." + name
    module, _, ending = name.rpartition(".")
    prefix = ""
    if module.startswith("model.layers."):
        prefix = ".".join(module.split(".")[:3]) + "."
        module = module[len(prefix):]
    targets = NAMES.get(module, [module])
    parts = np.split(values, len(targets))
    return {f"{prefix}{target}.{ending}": np.ascontiguousarray(part) for target, part in zip(targets, parts)}


def make_case(name, case):
    rng = np.random.default_rng(dense.SEED)
    labels_of_classes = case["options"].pop("num_labels", None)
    config = ModernBertConfig(**{**COMMON, **case["options"]})
    if labels_of_classes:
        config.num_labels = labels_of_classes
    model = case["model"]._from_config(config, attn_implementation="eager", dtype=torch.float32)
    dense.draw_weights(model, rng)
    rows, longest = len(case["lengths"]), max(case["lengths"])
    ids = rng.integers(4, config.vocab_size, (rows, longest))
    mask = np.arange(longest)[None] < np.array(case["lengths"])[:, None]
    chosen = mask & (rng.random(ids.shape) < 0.3)
    chosen[:, 0] = True
    labels = np.where(chosen, ids, -100)
    ids = np.where(chosen & (rng.random(ids.shape) < 0.8), MASK, ids)
    ids[~mask] = config.pad_token_id
    if not case["model"] is ModernBertForMaskedLM:
        labels = np.full_like(ids, -100)
    outputs = model(input_ids=torch.from_numpy(ids), attention_mask=torch.from_numpy(mask.astype(np.int64)))
    expect = dict(input_ids=ids, labels=labels)
    if not mask.all():
        expect["token_mask"] = mask
    if case["model"] is ModernBertForMaskedLM:
        target = torch.from_numpy(labels)
        token_loss = torch.nn.functional.cross_entropy(
            outputs.logits.flatten(0, 1), target.flatten(), ignore_index=-100, reduction="none").view(target.shape)
        loss = token_loss.sum() / (target != -100).sum()
        again = model(input_ids=torch.from_numpy(ids), labels=target,
                      attention_mask=torch.from_numpy(mask.astype(np.int64))).loss
        assert torch.allclose(loss, again), (loss, again)
        expect |= dict(logits=outputs.logits, token_loss=token_loss)
    elif case["model"] is ModernBertForSequenceClassification:
        classes = torch.arange(rows) % labels_of_classes
        labels[:, 0] = classes.numpy()
        loss = torch.nn.functional.cross_entropy(outputs.logits, classes)
        expect |= dict(logits=outputs.logits)
    else:
        direction = torch.from_numpy(rng.standard_normal((rows, longest, config.hidden_size)).astype(np.float32))
        direction = direction * torch.from_numpy(mask)[:, :, None]
        loss = (outputs.last_hidden_state * direction).sum()
        expect |= dict(embeddings=outputs.last_hidden_state, direction=direction)
    loss.backward()
    expect["loss"] = loss.reshape(1)
    expect = {key: dense.numpy_of(value) if torch.is_tensor(value) else value for key, value in expect.items()}
    for key, parameter in model.named_parameters():
        expect |= {f"grad.{own}": part for own, part in ours(key, dense.numpy_of(parameter.grad)).items()}

    dense.write_case(HERE / name, model, expect)
    if name == "modernbert":
        as_transformers_4(HERE / name / "config.json")


def as_transformers_4(file):
    """Rewrites a config.json with the keys that version has, and checks that this version reads the same model."""
    config = json.loads(file.read_text())
    ropes, types = config.pop("rope_parameters"), config.pop("layer_types")
    config.update(global_rope_theta=ropes["full_attention"]["rope_theta"], global_attn_every_n_layers=3,
                  local_rope_theta=ropes["sliding_attention"]["rope_theta"])
    file.write_text(json.dumps(config, indent=2, sort_keys=True) + "\n")
    again = ModernBertConfig.from_pretrained(file.parent)
    assert again.rope_parameters == ropes and again.layer_types == types, again


if __name__ == "__main__":
    torch.set_num_threads(1)
    for wanted in sys.argv[1:] or CASES:
        make_case(wanted, CASES[wanted])
