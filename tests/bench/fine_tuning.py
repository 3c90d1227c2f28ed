"""LoRA of a dense model of 0.6 B parameters in bfloat16 beside full training of it, and beside `peft`."""
import json
import os
import statistics
import subprocess
import sys
import tempfile

import machine
from runs import WARMUP, Node

JOB, TOKENS = "dense_06b", 2 * 256
MODEL = ("{hidden_size: 1024, num_hidden_layers: 28, num_attention_heads: 16, num_key_value_heads: 8, head_dim: 128, "
         "intermediate_size: 3072, vocab_size: 151936, max_position_embeddings: 4096, rope_theta: 1000000.0, "
         "tie_word_embeddings: true}")
LORA = ("{kind: lora, module_name_pattern: '.*(q|k|v|o|gate|up|down)_proj', "
        "params: {r: 16, alpha: 32, dropout: 0.0}}")
WAYS = {"LoRA, r = 16": {"model_provider.peft": LORA},
        "LoRA, r = 16, recomputing": {"model_provider.peft": LORA, "model_provider.enable_checkpointing": "true"},
        "LoRA, r = 16, recomputing, moments of 8 bits": {"model_provider.peft": LORA, "optimizer.name": "adamw_8bit",
                                                         "model_provider.enable_checkpointing": "true"},
        "LoRA, r = 16, recomputing, stochastic rounding": {"model_provider.peft": LORA,
                                                           "optimizer.name": "stochastic_adamw",
                                                           "optimizer.state_dtype": "bfloat16",
                                                           "model_provider.enable_checkpointing": "true"},
        "full training": {}}
# Adapters in the model's type: faster than peft's own choice, float32.
PEFT = """import json, resource, sys, time, torch
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM
folder, steps = sys.argv[1], int(sys.argv[2])
torch.set_num_threads(2)
model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.bfloat16)
names = [name + "_proj" for name in ("q", "k", "v", "o", "gate", "up", "down")]
model = get_peft_model(model, LoraConfig(r=16, lora_alpha=32, target_modules=names), autocast_adapter_dtype=False)
model.train()
trained = [p for p in model.parameters() if p.requires_grad]
adam = torch.optim.AdamW(trained, lr=1e-4, weight_decay=0.0, fused=True)
seconds = []
for step in range(steps):
    begin = time.perf_counter()
    for _ in range(2):
        ids = torch.randint(0, model.config.vocab_size, (1, 256))
        model(input_ids=ids, labels=ids).loss.backward()
    torch.nn.utils.clip_grad_norm_(trained, 1.0)
    adam.step()
    adam.zero_grad()
    seconds.append(time.perf_counter() - begin)
print(json.dumps(dict(seconds=seconds, rss_mib=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)))"""


def peft(python, folder, steps):
    done = subprocess.run([python, "-c", PEFT, folder, str(steps)], capture_output=True, text=True,
                          env={**os.environ, "OMP_NUM_THREADS": "2", "HF_HUB_OFFLINE": "1"})
    if done.returncode:
        raise SystemExit(f"peft failed: {done.stderr[-2000:]}")
    row = json.loads(done.stdout.splitlines()[-1])
    return dict(step_s=statistics.median(row["seconds"][WARMUP:]), rss_mib=row["rss_mib"])


def measure(node, pairs, steps, peers_python=None):
    runs = {way: [] for way in WAYS}
    if peers_python:
        runs["peft and transformers"] = []
    with tempfile.TemporaryDirectory(prefix="d9d-bench-") as folder:
        base = os.path.join(folder, "base")
        # Random weights, which both load.
        node.train(JOB, {"export_to": base, "model_provider.model": MODEL, "data.sequence_length": 8}, 1)
        weights = os.path.getsize(os.path.join(base, "model.safetensors"))
        start = {"model_provider.from": base, "trainer.model_stage_factory.source_checkpoint": base,
                 "node.threads_per_rank": 2}
        for pair in range(pairs):
            for way, settings in WAYS.items():
                runs[way].append(node.train(JOB, {**start, **settings}, steps + WARMUP))
            if peers_python:
                runs["peft and transformers"].append(peft(peers_python, base, steps + WARMUP))
            print(f"[load {machine.load()}] pair {pair + 1} of {pairs}: "
                  + ", ".join(f"{way} {rows[-1]['step_s']:.2f} s" for way, rows in runs.items()), file=sys.stderr)
    median = lambda rows, key: statistics.median(row[key] for row in rows)
    lora = runs["LoRA, r = 16"]
    return dict(weights_mib=weights / 2**20,
                ways={way: dict(tokens_per_s=TOKENS / median(rows, "step_s"), rss_mib=median(rows, "rss_mib"),
                                of_lora=statistics.median(row["step_s"] / ours["step_s"]
                                                          for row, ours in zip(rows, lora)))
                      for way, rows in runs.items()})


if __name__ == "__main__":
    print(json.dumps(measure(Node(sys.argv[1]), int(sys.argv[2]), 3, *sys.argv[3:]), indent=1))
