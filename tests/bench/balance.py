"""Experts' loads and the loss of the quickstart's job with DeepSeek-V3's router, with and without its moving bias."""
import json
import os
import subprocess
import sys
import tempfile

from runs import Node

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
STEPS, EVERY = 300, 25
RATES = (0.0, 0.001, 0.01)  # 0.001: DeepSeek-V3 (2024), section 4.2, over many more steps
LOAD = "metrics/expert_load/max_over_mean"
# The quickstart's sizes; the latent dimensions are those that its heads allow.
MODEL = ("{{name: deepseek_v3, model: {{vocab_size: 2048, hidden_size: 192, num_hidden_layers: 4, "
         "num_attention_heads: 6, num_key_value_heads: 6, q_lora_rank: 96, kv_lora_rank: 64, qk_nope_head_dim: 16, "
         "qk_rope_head_dim: 16, v_head_dim: 32, intermediate_size: 512, moe_intermediate_size: 256, "
         "n_routed_experts: 8, n_shared_experts: 1, num_experts_per_tok: 2, n_group: 1, topk_group: 1, "
         "first_k_dense_replace: 1, norm_topk_prob: true, routed_scaling_factor: 1.0, "
         "max_position_embeddings: 512, tie_word_embeddings: false, router_bias_update_rate: {rate}}}}}")


def curve(node, text, rate):
    settings = {"model_provider": MODEL.format(rate=rate), "data.files.0": text, "export_to": "null",
                "data.tokenizer": os.path.join(ROOT, "examples/quickstart/tokenizer.json"),
                "trainer.logging": "{period_steps: 1, expert_load: model, tracker: {provider: 'null'}}",
                "trainer.checkpointing": "{period_steps: disable}"}
    with tempfile.TemporaryDirectory(prefix="d9d-bench-") as folder:
        node.train("../../../examples/quickstart/job", settings, STEPS, keep=folder)
        with open(os.path.join(folder, "metrics.jsonl")) as f:
            return [json.loads(line) for line in f]


def mean_of(lines, key):
    return sum(line[key] for line in lines) / len(lines)


def measure(node, rates=RATES):
    """Maps each rate to rows (step, loss, largest load over the mean); a row is the mean of the last `EVERY` steps."""
    with tempfile.TemporaryDirectory(prefix="d9d-bench-") as folder:
        text = os.path.join(folder, "kjv.txt")
        subprocess.run(["sh", os.path.join(ROOT, "examples/quickstart/make_text.sh"), text], check=True)
        curves = {}
        for rate in rates:
            lines = curve(node, text, rate)
            curves[rate] = [(end, mean_of(lines[end - EVERY:end], "loss"), mean_of(lines[end - EVERY:end], LOAD))
                            for end in range(EVERY, STEPS + 1, EVERY)]
    return curves


if __name__ == "__main__":
    for rate, rows in measure(Node(sys.argv[1])).items():
        print(f"router_bias_update_rate {rate}")
        for step, loss, load in rows:
            print(f"{step:5d}  loss {loss:.4f}  largest load {load:.3f}")
