"""Writes the golden files of tests/golden/peft: adapters of the models in tests/golden/qwen3, run by peft in fp32.

Usage: python make.py [case ...]   (torch, transformers >= 5, peft, safetensors, numpy; see origin.md for versions)
"""
import json
import pathlib
import re
import shutil
import sys
import tempfile

import numpy as np
import torch
from peft import LoraConfig, PeftModel, get_peft_model
from safetensors.numpy import load_file, save_file
from transformers import AutoModelForCausalLM, AutoModelForSequenceClassification

HERE = pathlib.Path(__file__).parent
MODELS = HERE.parent / "qwen3"
SEED = 20251122
EXPERTS = ("gate_proj", "up_proj", "down_proj")
SPARSE = ("moe", "../latent_families/deepseek_v3", "../sparse_families/qwen2_moe")
CASES = {
    # attention and feed-forward, biases beside the adapters
    "dense": dict(model="dense_bias_yarn", r=4, alpha=8, rslora=False,
                  modules=["q_proj", "v_proj", "o_proj", *EXPERTS]),
    "rslora": dict(model="dense_bias_yarn", r=4, alpha=6, rslora=True, modules=["k_proj", "down_proj"]),
    "dora": dict(model="dense_bias_yarn", r=4, alpha=8, rslora=False, dora=True, modules=["k_proj", "o_proj", "up_proj"]),
    # a norm and a new head, which peft adds by itself, whole beside the adapters, on the body of a language model
    "classifier": dict(model="dense_bias_yarn", r=4, alpha=8, rslora=False, labels=3, modules=["q_proj", "down_proj"],
                       save=["model.norm"]),
    # a head with an adapter: peft stores the head's own weight beside it, which here is not that of the folder
    "head": dict(model="dense_bias_yarn", r=2, alpha=6, rslora=False, modules=["q_proj", "lm_head"]),
    # experts one by one, as peft saves them with transformers 4
    "moe": dict(model="moe", r=2, alpha=3, rslora=False, modules=["q_proj", *EXPERTS]),
    # experts beside a dense layer and shared experts, whose projections peft takes for experts' unless their weights
    # are targets themselves; alpha / sqrt(r), for which peft doubles the alpha of what it fuses
    "beside_experts": dict(model="../latent_families/deepseek_v3", r=2, alpha=3, rslora=True,
                           pattern=r".*\.(q_a_proj|(gate|up|down)_proj)",
                           modules=["q_a_proj", *(f"experts.{e}.{part}" for e in range(8) for part in EXPERTS)],
                           parameters=[f"model.layers.{path}.{part}.weight"
                                       for path in ("0.mlp", "1.mlp.shared_experts", "2.mlp.shared_experts")
                                       for part in EXPERTS],
                           fused=(4, 3 * 2 ** 0.5)),
    # a family of which peft does not know that its experts are fused; no adapter of the experts' down_proj
    "unknown_experts": dict(model="../sparse_families/qwen2_moe", r=2, alpha=3, rslora=False,
                            pattern=r".*\.(gate|up)_proj|.*shared_expert\.down_proj",
                            modules=["gate_proj", "up_proj",
                                     *(f"model.layers.{i}.mlp.shared_expert.down_proj" for i in (0, 1))],
                            parameters=["experts.down_proj", "experts.gate_up_proj"], fused=(4, 6.0)),
}


def numpy_of(tensor):
    return np.ascontiguousarray(tensor.detach().numpy())


def base_model(name, labels=None):
    extra = dict(experts_implementation="eager") if name in SPARSE else {}
    if labels:
        return AutoModelForSequenceClassification.from_pretrained(
            MODELS / name, num_labels=labels, dtype=torch.float32, attn_implementation="eager", pad_token_id=0)
    return AutoModelForCausalLM.from_pretrained(MODELS / name, dtype=torch.float32, attn_implementation="eager", **extra)


def expert_adapter(case, rng):
    """Factors of every expert of the moe model under the names that transformers 4 gives the modules."""
    config = json.loads((MODELS / case["model"] / "config.json").read_text())
    hidden, inner, r = config["hidden_size"], config["moe_intermediate_size"], case["r"]
    tensors = {}
    for layer in range(config["num_hidden_layers"]):
        prefix = f"base_model.model.model.layers.{layer}."
        sizes = {prefix + "self_attn.q_proj": (hidden, config["num_attention_heads"] * config["head_dim"])}
        for expert in range(config["num_local_experts"]):
            for part in EXPERTS:
                size = (inner, hidden) if part == "down_proj" else (hidden, inner)
                sizes[f"{prefix}mlp.experts.{expert}.{part}"] = size
        for path, (into, out) in sizes.items():
            tensors[path + ".lora_A.weight"] = 0.3 * rng.standard_normal((r, into)).astype(np.float32)
            tensors[path + ".lora_B.weight"] = 0.3 * rng.standard_normal((out, r)).astype(np.float32)
    return tensors


def write_expert_adapter(folder, case, rng):
    save_file(expert_adapter(case, rng), folder / "adapter_model.safetensors", {"format": "pt"})
    config = dict(peft_type="LORA", task_type="CAUSAL_LM", r=case["r"], lora_alpha=case["alpha"], lora_dropout=0.0,
                  use_rslora=case["rslora"], target_modules=case["modules"], bias="none", fan_in_fan_out=False,
                  base_model_name_or_path=None, inference_mode=True)
    (folder / "adapter_config.json").write_text(json.dumps(config, indent=2) + "\n")


def write_named_adapter(folder, case, rng):
    """Factors of the folder's matrices whose names match, and a config.json that makes peft find each of them."""
    weights = load_file(MODELS / case["model"] / "model.safetensors")
    factors, merged = {}, dict(weights)
    for name in sorted(weights):
        path = name.removesuffix(".weight")
        if not re.fullmatch(case["pattern"], path):
            continue
        out, into = weights[name].shape
        a, b = (0.3 * rng.standard_normal(shape).astype(np.float32) for shape in ((case["r"], into), (out, case["r"])))
        factors[f"base_model.model.{path}.lora_A.weight"] = a
        factors[f"base_model.model.{path}.lora_B.weight"] = b
        merged[name] = weights[name] + case["alpha"] / (case["r"] ** 0.5 if case["rslora"] else case["r"]) * (b @ a)
    save_file(factors, folder / "adapter_model.safetensors", {"format": "pt"})
    fused = r"experts\.gate_up_proj"
    config = dict(peft_type="LORA", task_type="CAUSAL_LM", r=case["r"], lora_alpha=case["alpha"], lora_dropout=0.0,
                  use_rslora=case["rslora"], target_modules=sorted(case["modules"]),
                  target_parameters=sorted(case["parameters"]), rank_pattern={fused: case["fused"][0]},
                  alpha_pattern={fused: case["fused"][1]}, bias="none", fan_in_fan_out=False,
                  base_model_name_or_path=None, inference_mode=True)
    (folder / "adapter_config.json").write_text(json.dumps(config, indent=2) + "\n")
    return merged


def require_all_found(name, folder, case, merged, ids, logits):
    """peft's logits are those of the weights with every product of factors added, by hand."""
    with tempfile.TemporaryDirectory() as whole:
        shutil.copy(MODELS / case["model"] / "config.json", whole)
        save_file(merged, pathlib.Path(whole) / "model.safetensors", {"format": "pt"})
        model = AutoModelForCausalLM.from_pretrained(
            whole, dtype=torch.float32, attn_implementation="eager", experts_implementation="eager")
        expected = model(input_ids=torch.from_numpy(ids)).logits
    assert (logits - expected).abs().max() < 1e-4 * expected.abs().max(), name


def write_adapter(folder, case, rng):
    config = LoraConfig(task_type="SEQ_CLS" if "labels" in case else "CAUSAL_LM", modules_to_save=case.get("save"), r=case["r"], lora_alpha=case["alpha"], lora_dropout=0.0,
                        use_rslora=case["rslora"], use_dora=case.get("dora", False), target_modules=case["modules"])
    base = base_model(case["model"], case.get("labels"))
    if "lm_head" in case["modules"]:
        base.lm_head.weight.data.add_(torch.from_numpy(0.3 * rng.standard_normal(tuple(base.lm_head.weight.shape)).astype(np.float32)))
    model = get_peft_model(base, config)
    with torch.no_grad():
        for name, parameter in sorted(model.named_parameters()):
            noise = torch.from_numpy(0.3 * rng.standard_normal(tuple(parameter.shape)).astype(np.float32))
            if "lora_magnitude" in name:
                parameter.mul_(1 + noise)
            elif "lora_" in name:
                parameter.copy_(noise)
            elif "modules_to_save" in name:
                parameter.copy_(noise + (1 if "norm" in name else 0))
    model.save_pretrained(folder)
    (folder / "README.md").unlink(missing_ok=True)
    # Without what differs from one machine or run to the next: a path, the order of a set.
    file = folder / "adapter_config.json"
    saved = json.loads(file.read_text())
    saved.update(base_model_name_or_path=None, target_modules=sorted(saved["target_modules"]))
    if saved["modules_to_save"]:
        saved["modules_to_save"] = sorted(set(saved["modules_to_save"]))
    file.write_text(json.dumps(saved, indent=2) + "\n")


def batch_of(case, config, rng):
    ids = rng.integers(0, config.vocab_size, (2, 21))
    labels = np.concatenate([ids[:, 1:], np.full((2, 1), -100)], axis=1)
    labels[:, 4:7] = -100
    return ids, labels


def outputs(model, ids, labels):
    logits = model(input_ids=torch.from_numpy(ids)).logits
    target = torch.from_numpy(labels)
    loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), target.flatten(), ignore_index=-100)
    return logits, loss


def classes_of(folder, case, rng):
    """Logits of texts of several lengths, padding behind them, and the merged weights."""
    model = PeftModel.from_pretrained(base_model(case["model"], case["labels"]), folder)
    lengths = np.array([9, 13, 4])
    ids = rng.integers(3, model.config.vocab_size, (3, 13))
    mask = (np.arange(13)[None, :] < lengths[:, None]).astype(np.int64)
    ids[mask == 0] = 0
    last = np.zeros_like(mask)
    last[np.arange(3), lengths - 1] = 1
    with torch.no_grad():
        logits = model(input_ids=torch.from_numpy(ids), attention_mask=torch.from_numpy(mask)).logits
    merged = model.merge_and_unload().state_dict()
    names = ["score.weight", "model.norm.weight", "model.layers.0.self_attn.q_proj.weight"]
    return dict(input_ids=ids, pooling_mask=last, logits=numpy_of(logits),
                **{f"merged.{name}": numpy_of(merged[name]) for name in names})


def of_head(folder, case, rng):
    """Logits and merged weights with the folder's model, and logits where that is stored in bfloat16."""
    model = PeftModel.from_pretrained(base_model(case["model"]), folder)
    ids, labels = batch_of(case, model.config, rng)
    ids = np.ascontiguousarray(ids[:, :9])  # a view would be written as the memory that it begins in
    with torch.no_grad():
        logits = model(input_ids=torch.from_numpy(ids)).logits
        rounded = base_model(case["model"])
        for parameter in rounded.parameters():
            parameter.copy_(parameter.to(torch.bfloat16).to(torch.float32))
        of_rounded = PeftModel.from_pretrained(rounded, folder)(input_ids=torch.from_numpy(ids)).logits
    merged = model.merge_and_unload().state_dict()
    names = ["lm_head.weight", "model.layers.0.self_attn.q_proj.weight", "model.layers.1.self_attn.q_proj.weight"]
    return dict(input_ids=ids, logits=numpy_of(logits), logits_of_bfloat16=numpy_of(of_rounded),
                **{f"merged.{name}": numpy_of(merged[name]) for name in names})


def one_step(model, loss, lr):
    """The gradients, and the adapter after a step of AdamW, as peft saves it."""
    trained = {key: tensor for key, tensor in model.named_parameters() if tensor.requires_grad}
    optimizer = torch.optim.AdamW(trained.values(), lr=lr, betas=(0.9, 0.95), weight_decay=0.1)
    loss.backward()
    name = {key: key.replace("_vector.default.weight", "_vector").replace(".default", "") for key in trained}
    result = {f"grad.{name[key]}": numpy_of(tensor.grad) for key, tensor in trained.items()}
    optimizer.step()
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        for key, tensor in load_file(pathlib.Path(folder) / "adapter_model.safetensors").items():
            result["stepped." + key] = tensor
    return result


def merged_weights(folder, case):
    merged = PeftModel.from_pretrained(base_model(case["model"]), folder).merge_and_unload().state_dict()
    names = [name for name in merged if name.startswith("model.layers.0.") and name.endswith("_proj.weight")]
    return {f"merged.{name}": numpy_of(merged[name]) for name in names}


def make_case(name, case):
    rng = np.random.default_rng(SEED)
    folder = HERE / name
    folder.mkdir(exist_ok=True)
    experts = case["model"] == "moe" or "pattern" in case
    write = write_named_adapter if "pattern" in case else write_expert_adapter if experts else write_adapter
    merged = write(folder, case, rng)
    if "labels" in case:
        save_file(classes_of(folder, case, rng), folder / "expect.safetensors")
        return finish(name, folder)
    if "lm_head" in case["modules"]:
        save_file(of_head(folder, case, rng), folder / "expect.safetensors")
        return finish(name, folder)
    model = PeftModel.from_pretrained(base_model(case["model"]), folder, is_trainable=True)
    ids, labels = batch_of(case, model.config, rng)
    logits, loss = outputs(model, ids, labels)
    if merged:
        require_all_found(name, folder, case, merged, ids, logits)
    expect = dict(input_ids=ids, labels=labels, logits=numpy_of(logits), loss=numpy_of(loss.reshape(1)))
    if not experts:
        expect.update(one_step(model, loss, lr=0.01))
        expect.update(merged_weights(folder, case))
    save_file(expect, folder / "expect.safetensors")
    finish(name, folder)


def finish(name, folder):
    for file in folder.iterdir():
        file.chmod(0o644)
    print(name, "bytes", {f.name: f.stat().st_size for f in sorted(folder.iterdir())})


if __name__ == "__main__":
    torch.set_num_threads(1)
    for wanted in sys.argv[1:] or CASES:
        make_case(wanted, CASES[wanted])
