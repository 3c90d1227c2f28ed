"""Writes the golden files of tests/golden/folders: model folders as people have them, beside what transformers computes
from the same weights in fp32, or what numpy says the weights are.

Usage: python make.py   (torch, transformers >= 5, safetensors, numpy; see origin.md for versions)
"""
import json
import pathlib
import sys
import shutil
import struct

import numpy as np
import torch
from safetensors.numpy import save_file
from transformers import (
    DeepseekV3Config, DeepseekV3ForCausalLM, Gemma3Config, Gemma3ForConditionalGeneration, Gemma3TextConfig,
    GptOssConfig, GptOssForCausalLM, LlamaConfig, LlamaForCausalLM, SiglipVisionConfig)
from transformers.integrations.mxfp4 import convert_moe_packed_tensors

HERE = pathlib.Path(__file__).parent
sys.path.append(str(HERE.parent))
from dense_families import make as dense  # noqa: E402
SEED = 20251125


def e4m3_values():
    """All 256 values of F8_E4M3, by its definition."""
    values = np.zeros(256)
    for bits in range(256):
        sign, exponent, mantissa = bits >> 7, bits >> 3 & 15, bits & 7
        value = mantissa / 8 * 2.0 ** -6 if exponent == 0 else (1 + mantissa / 8) * 2.0 ** (exponent - 7)
        values[bits] = np.nan if exponent == 15 and mantissa == 7 else (-1) ** sign * value
    return values.astype(np.float32)


VALUES = e4m3_values()


def nearest(numbers):
    """The bits of the nearest values of F8_E4M3."""
    finite = np.array([bits for bits in range(256) if not np.isnan(VALUES[bits])], np.uint8)
    order = finite[np.argsort(VALUES[finite], kind="stable")]
    sorted_values = VALUES[order]
    right = np.clip(np.searchsorted(sorted_values, numbers), 1, len(order) - 1)
    left_nearer = numbers - sorted_values[right - 1] < sorted_values[right] - numbers
    return order[right - left_nearer]


def spread(scales, shape, block):
    """Each scale over its block of the last two dims; the last block may be a part."""
    for dim in (-2, -1):
        scales = np.repeat(scales, block[dim], axis=dim)
    return scales[..., :shape[-2], :shape[-1]]


def quantised(weight, block):
    """Bits, scales, and the weights that they stand for, in float32."""
    rows, columns = (-(-weight.shape[dim] // block[dim]) for dim in (-2, -1))
    scales = np.zeros(weight.shape[:-2] + (rows, columns), np.float32)
    for row in range(rows):
        for column in range(columns):
            part = weight[..., row * block[0]:(row + 1) * block[0], column * block[1]:(column + 1) * block[1]]
            scales[..., row, column] = np.abs(part).max(axis=(-2, -1)) / 448
    spreaded = spread(scales, weight.shape, block)
    bits = nearest(weight / spreaded)
    return bits, scales, VALUES[bits] * spreaded


def save(path, tensors, float8=()):
    """As safetensors; the bytes of those in `float8` are F8_E4M3, which numpy has no name for."""
    dtypes = {"uint8": "U8", "float32": "F32", "int64": "I64"}
    header, data = {"__metadata__": {"format": "pt"}}, b""
    for name, tensor in sorted(tensors.items(), key=lambda item: (-item[1].itemsize, item[0])):
        content = np.ascontiguousarray(tensor).tobytes()
        header[name] = {"dtype": "F8_E4M3" if name in float8 else dtypes[str(tensor.dtype)],
                        "shape": list(tensor.shape), "data_offsets": [len(data), len(data) + len(content)]}
        data += content
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def make_float8():
    """Tensors alone: blocks with edges, scales by row, by tensor, of experts; and every value, without scales."""
    folder = HERE / "float8"
    folder.mkdir(exist_ok=True)
    rng = np.random.default_rng(SEED)
    stored, expect, float8 = {}, {}, []

    def add(name, bits, scales, values, ending="_scale_inv"):
        stored[name] = bits
        float8.append(name)
        expect[name] = values.astype(np.float32)
        stored[name.removesuffix("weight") + ending if ending[0] != "_" else name + ending] = scales.astype(np.float32)

    alone = HERE / "float8_without_scales"
    alone.mkdir(exist_ok=True)
    save(alone / "model.safetensors", {"w": np.arange(256, dtype=np.uint8).reshape(16, 16)}, ["w"])
    save(alone / "expect.safetensors", {"w": VALUES.reshape(16, 16)})
    drawn = rng.standard_normal((13, 21)).astype(np.float32)
    add("edges.weight", *quantised(drawn, (4, 8)))
    drawn = rng.standard_normal((3, 9, 17)).astype(np.float32)
    add("experts.gate_up_proj", *quantised(drawn, (4, 8)))
    bits = rng.integers(0, 127, (5, 7)).astype(np.uint8)
    by_row = rng.random(5).astype(np.float32)
    add("rows.weight", bits, by_row, VALUES[bits] * by_row[:, None], "_scale")
    add("columns_of_rows.weight", bits, by_row[:, None], VALUES[bits] * by_row[:, None], "_scale")
    one = np.float32(0.037)
    add("one.weight", bits, one.reshape(()), VALUES[bits] * one, "_scale")
    add("other_spelling.weight", bits, one.reshape(1), VALUES[bits] * one, "scale_weight")
    stored["one.input_scale"] = np.ones((), np.float32)
    stored["plain.weight"] = expect["plain.weight"] = rng.standard_normal((2, 3)).astype(np.float32)
    save(folder / "model.safetensors", stored, float8)
    config = {"quantization_config": {"quant_method": "fp8", "fmt": "e4m3", "weight_block_size": [4, 8]}}
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n")
    save(folder / "expect.safetensors", expect)


def make_usual_blocks():
    """Blocks of 128 x 128, which no config.json has to name, with a row and a column over: 129 x 130."""
    folder = HERE / "float8_blocks_of_128"
    folder.mkdir(exist_ok=True)
    rng = np.random.default_rng(SEED + 1)
    bits, scales, values = quantised(rng.standard_normal((129, 130)).astype(np.float32), (128, 128))
    save(folder / "model.safetensors", {"w.weight": bits, "w.weight_scale_inv": scales}, ["w.weight"])
    rows, columns = [0, 127, 128], [0, 127, 128, 129]  # of each block, and at its edges
    expect = {"sample": values[np.ix_(rows, columns)], "rows": values[127:129], "columns": values[:, 127:130]}
    save(folder / "expect.safetensors", {key: np.ascontiguousarray(value) for key, value in expect.items()})


def run(model, vocabulary, rng, batch=2, length=17):
    ids = rng.integers(0, vocabulary, (batch, length))
    labels = np.concatenate([ids[:, 1:], np.full((batch, 1), -100)], axis=1)
    logits = model(input_ids=torch.from_numpy(ids)).logits
    target = torch.from_numpy(labels)
    token_loss = torch.nn.functional.cross_entropy(
        logits.flatten(0, 1), target.flatten(), ignore_index=-100, reduction="none").view(target.shape)
    return dict(input_ids=ids, labels=labels, logits=dense.numpy_of(logits), token_loss=dense.numpy_of(token_loss))


def make_deepseek():
    """As the published folder: linears of decoder layers in blocks of 8 bits, the rest as it was."""
    folder = HERE / "deepseek_v3_float8"
    folder.mkdir(exist_ok=True)
    rng = np.random.default_rng(SEED + 2)
    config = DeepseekV3Config(**{**dense.COMMON, **dict(
        intermediate_size=20, moe_intermediate_size=9, n_routed_experts=4, n_shared_experts=1, num_experts_per_tok=2,
        num_key_value_heads=4, n_group=2, topk_group=1, first_k_dense_replace=1, q_lora_rank=12, kv_lora_rank=10,
        qk_nope_head_dim=6, qk_rope_head_dim=4, v_head_dim=8, num_nextn_predict_layers=0,
        rope_parameters=dense.PLAIN)})
    model = DeepseekV3ForCausalLM._from_config(config, attn_implementation="eager", dtype=torch.float32,
                                               experts_implementation="eager")
    dense.draw_weights(model, rng)
    weights = {}
    for name, tensor in model.state_dict().items():
        value = dense.numpy_of(tensor)
        if name.endswith("experts.gate_up_proj"):
            for expert, both in enumerate(value):
                for part, half in zip(("gate_proj", "up_proj"), np.split(both, 2)):
                    weights[name.replace("gate_up_proj", f"{expert}.{part}.weight")] = half
        elif name.endswith("experts.down_proj"):
            for expert, one in enumerate(value):
                weights[name.replace("down_proj", f"{expert}.down_proj.weight")] = one
        else:
            weights[name] = value
    stored, float8, dequantised = {}, [], {}
    for name, weight in weights.items():
        if name.endswith("_proj.weight") or "proj_with_mqa" in name or "_a_proj" in name or "_b_proj" in name:
            bits, scales, values = quantised(weight, (8, 8))
            stored[name], stored[name + "_scale_inv"], dequantised[name] = bits, scales, values
            float8.append(name)
        else:
            stored[name] = dequantised[name] = weight
    with torch.no_grad():
        for name, tensor in model.state_dict().items():
            if name.endswith("experts.gate_up_proj"):
                each = [[dequantised[name.replace("gate_up_proj", f"{e}.{part}.weight")] for part in
                         ("gate_proj", "up_proj")] for e in range(4)]
                tensor.copy_(torch.from_numpy(np.stack([np.concatenate(both) for both in each])))
            elif name.endswith("experts.down_proj"):
                tensor.copy_(torch.from_numpy(np.stack(
                    [dequantised[name.replace("down_proj", f"{e}.down_proj.weight")] for e in range(4)])))
            else:
                tensor.copy_(torch.from_numpy(dequantised[name]))
    save(folder / "model.safetensors", stored, float8)
    document = json.loads(config.to_json_string())
    document.update(architectures=["DeepseekV3ForCausalLM"], quantization_config={
        "quant_method": "fp8", "activation_scheme": "dynamic", "fmt": "e4m3", "weight_block_size": [8, 8]})
    (folder / "config.json").write_text(json.dumps(document, indent=2) + "\n")
    save_file(run(model, config.vocab_size, rng), folder / "expect.safetensors")


def make_gpt_oss():
    """As published: experts in blocks of 4 bits, RoPE and other keys of config.json as transformers 4 has them."""
    folder = HERE / "gpt_oss_mxfp4"
    folder.mkdir(exist_ok=True)
    rng = np.random.default_rng(SEED + 5)
    rope = dict(rope_type="yarn", factor=4.0, beta_fast=4.0, beta_slow=1.0, truncate=False,
                original_max_position_embeddings=16)
    config = GptOssConfig(**{**dense.COMMON, **dict(
        hidden_size=32, intermediate_size=64, num_local_experts=3, num_experts_per_tok=2, head_dim=8, sliding_window=5,
        rope_parameters={**rope, "rope_theta": 100.0})})
    model = GptOssForCausalLM._from_config(config, attn_implementation="eager", dtype=torch.float32,
                                           experts_implementation="eager")
    dense.draw_weights(model, rng)
    stored = {}
    with torch.no_grad():
        for name, tensor in model.state_dict().items():
            if not name.endswith(("experts.gate_up_proj", "experts.down_proj")):
                stored[name] = dense.numpy_of(tensor)
                continue
            experts, columns, rows = tensor.shape
            blocks = rng.integers(0, 256, (experts, rows, columns // 32, 16)).astype(np.uint8)
            scales = rng.integers(121, 125, blocks.shape[:-1]).astype(np.uint8)
            stored[name + "_blocks"], stored[name + "_scales"] = blocks, scales
            tensor.copy_(convert_moe_packed_tensors(torch.from_numpy(blocks), torch.from_numpy(scales),
                                                    dtype=torch.float32))
    save(folder / "model.safetensors", stored)
    document = json.loads(config.to_json_string())
    del document["rope_parameters"]
    document.update(architectures=["GptOssForCausalLM"], rope_scaling=rope, rope_theta=100.0, experts_per_token=2,
                    initial_context_length=16, quantization_config={
                        "quant_method": "mxfp4", "modules_to_not_convert": ["model.embed_tokens", "lm_head"]})
    (folder / "config.json").write_text(json.dumps(document, indent=2) + "\n")
    save_file(run(model, config.vocab_size, rng), folder / "expect.safetensors")


def make_gemma():
    """Gemma 3 4B's form: text_config with the keys that differ from its class alone, a vision tower beside it."""
    rng = np.random.default_rng(SEED + 3)
    text = Gemma3TextConfig(
        hidden_size=24, intermediate_size=40, num_hidden_layers=3, vocab_size=61, sliding_window=5, head_dim=8,
        num_attention_heads=4, num_key_value_heads=2, query_pre_attn_scalar=10, sliding_window_pattern=2,
        rope_parameters=dict(full_attention=dict(rope_type="linear", factor=8.0, rope_theta=1e6),
                             sliding_attention=dict(rope_type="default", rope_theta=1e4)))
    vision = SiglipVisionConfig(hidden_size=8, intermediate_size=8, num_hidden_layers=1, num_attention_heads=2,
                                image_size=8, patch_size=4)
    config = Gemma3Config(text_config=text, vision_config=vision, mm_tokens_per_image=1, image_token_index=60,
                          boi_token_index=59, eoi_token_index=58, eos_token_id=[1, 7])
    model = Gemma3ForConditionalGeneration._from_config(config, attn_implementation="eager", dtype=torch.float32)
    dense.draw_weights(model, rng)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "norm" in name:  # zero-centred
                parameter.sub_(1)
    model.eval()
    expect = run(model, 58, rng)
    folder = HERE / "gemma3_multimodal"
    shutil.rmtree(folder, ignore_errors=True)
    model.save_pretrained(folder)
    (folder / "generation_config.json").unlink(missing_ok=True)
    save_file(expect, folder / "expect.safetensors")


def make_rope():
    """Values of RoPE's keys at their bounds: YaRN between equal bounds, equal factors of llama3, factors below 1."""
    cases = {
        "rope_yarn_equal": dict(rope_type="yarn", rope_theta=500.0, factor=4.0, beta_fast=1.0, beta_slow=1.0,
                                original_max_position_embeddings=16),
        "rope_llama3_equal": dict(rope_type="llama3", rope_theta=500.0, factor=8.0, low_freq_factor=2.0,
                                  high_freq_factor=2.0, original_max_position_embeddings=16),
        "rope_linear_below_1": dict(rope_type="linear", rope_theta=500.0, factor=0.5),
        "rope_yarn_below_1": dict(rope_type="yarn", rope_theta=500.0, factor=0.5,
                                  original_max_position_embeddings=16),
    }
    for name, rope in cases.items():
        rng = np.random.default_rng(SEED + 4)
        config = LlamaConfig(**{**dense.COMMON, **dict(num_hidden_layers=1, head_dim=16, hidden_size=16,
                                                       rope_parameters=rope, pad_token_id=-1)})
        model = LlamaForCausalLM._from_config(config, attn_implementation="eager", dtype=torch.float32)
        dense.draw_weights(model, rng)
        ids = rng.integers(0, config.vocab_size, (1, 29))
        ids[:, 5:8] = config.vocab_size - 1
        expect = dict(input_ids=ids, labels=np.concatenate([ids[:, 1:], [[-100]]], axis=1))
        outputs = model(input_ids=torch.from_numpy(ids))
        target = torch.from_numpy(expect["labels"])
        token_loss = torch.nn.functional.cross_entropy(
            outputs.logits.flatten(0, 1), target.flatten(), ignore_index=-100, reduction="none").view(target.shape)
        loss = token_loss.sum() / (target != -100).sum()
        loss.backward()
        expect.update(logits=dense.numpy_of(outputs.logits), token_loss=dense.numpy_of(token_loss),
                      loss=dense.numpy_of(loss.reshape(1)))
        expect.update({f"grad.{key}": dense.numpy_of(p.grad) for key, p in model.named_parameters()})
        folder = HERE / name
        folder.mkdir(exist_ok=True)
        config.architectures = ["LlamaForCausalLM"]
        (folder / "config.json").write_text(config.to_json_string())
        save_file({key: dense.numpy_of(value) for key, value in model.state_dict().items()},
                  folder / "model.safetensors", {"format": "pt"})
        save_file(expect, folder / "expect.safetensors")


if __name__ == "__main__":
    torch.set_num_threads(1)
    make_float8()
    make_usual_blocks()
    make_deepseek()
    make_gpt_oss()
    make_gemma()
    make_rope()
    for file in HERE.rglob("*.*"):
        file.chmod(0o644)
