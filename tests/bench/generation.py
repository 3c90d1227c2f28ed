"""`d9d-node generate` beside transformers' `generate`: a batch of 8 prompts of different lengths, greedy, the same folder."""
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile

import machine
from fine_tuning import MODEL as DENSE_06B
from runs import Node

REPOSITORY = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
TOKENIZER = os.path.join(REPOSITORY, "examples", "quickstart", "tokenizer.json")
QUICKSTART = ("{vocab_size: 2048, hidden_size: 192, num_hidden_layers: 4, num_attention_heads: 6, "
              "num_key_value_heads: 2, head_dim: 32, num_experts: 8, num_experts_per_tok: 2, "
              "moe_intermediate_size: 256, norm_topk_prob: true, max_position_embeddings: 512, "
              "tie_word_embeddings: false}")
# name: (job that makes random weights, its model, dtype of both, new tokens)
CASES = {"quickstart's model, float32": ("tiny_moe", QUICKSTART, "float32", 128),
         "0.6 B dense, bfloat16": ("dense_06b", DENSE_06B, "bfloat16", 32)}
TEXT = ("In the beginning God created the heaven and the earth. And the earth was without form, and void; and darkness "
        "was upon the face of the deep. And the Spirit of God moved upon the face of the waters. ")
PROMPTS = [TEXT[:length] for length in (20, 35, 50, 80, 110, 140, 170, len(TEXT) - 1)]
PEER = """import json, sys, time, torch
from transformers import AutoModelForCausalLM, PreTrainedTokenizerFast
folder, tokenizer, dtype, new, prompts = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]), json.loads(sys.argv[5])
torch.set_num_threads(int(sys.argv[6]))
tokenizer = PreTrainedTokenizerFast(tokenizer_file=tokenizer, padding_side="left", pad_token="<|endoftext|>")
model = AutoModelForCausalLM.from_pretrained(folder, dtype=getattr(torch, dtype)).eval()
batch = tokenizer(prompts, return_tensors="pt", padding=True)
options = dict(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"], do_sample=False, use_cache=True,
               pad_token_id=0, eos_token_id=None)
model.generate(**options, max_new_tokens=2)
begin = time.perf_counter()
made = model.generate(**options, max_new_tokens=new, min_new_tokens=new)
seconds = time.perf_counter() - begin
print(json.dumps(dict(tokens=made.shape[0] * (made.shape[1] - batch["input_ids"].shape[1]), seconds=seconds)))"""


def ours(node, folder, dtype, new, prompts):
    out = os.path.join(folder, "out.jsonl")
    done = subprocess.run([node.binary, "generate", folder, "--tokenizer", TOKENIZER, "--prompts", prompts,
                           "--temperature", "0", "--tokens", str(new), "--dtype", dtype, "--out", out],
                          capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"generate failed: {done.stderr[-2000:]}")
    tokens, seconds = re.match(r"(\d+) tokens for \d+ prompts in ([\d.]+) s", done.stdout).groups()
    return int(tokens) / float(seconds)


def theirs(python, folder, dtype, new, threads):
    done = subprocess.run([python, "-c", PEER, folder, TOKENIZER, dtype, str(new), json.dumps(PROMPTS), str(threads)],
                          capture_output=True, text=True, env={**os.environ, "HF_HUB_OFFLINE": "1"})
    if done.returncode:
        raise SystemExit(f"transformers failed: {done.stderr[-2000:]}")
    row = json.loads(done.stdout.splitlines()[-1])
    return row["tokens"] / row["seconds"]


def measure_case(node, case, pairs, peers_python):
    job, model, dtype, new = case
    runs = {"d9d-node generate": [], "transformers": []}
    with tempfile.TemporaryDirectory(prefix="d9d-bench-") as folder:
        base, prompts = os.path.join(folder, "base"), os.path.join(folder, "prompts.jsonl")
        vocabulary = re.search(r"vocab_size: (\d+)", model)[1]
        # One step of SGD, because moments of AdamW would take four times the memory of the weights.
        node.train(job, {"export_to": base, "optimizer": "{name: sgd, lr: 1.0e-6}",
                         "model_provider.model": model, "data.sequence_length": 8,
                         "data.vocab_size": vocabulary}, 1)
        with open(prompts, "w") as file:
            file.writelines(json.dumps(dict(prompt=prompt)) + "\n" for prompt in PROMPTS)
        for pair in range(pairs):
            runs["d9d-node generate"].append(ours(node, base, dtype, new, prompts))
            if peers_python:
                runs["transformers"].append(theirs(peers_python, base, dtype, new, os.cpu_count()))
            print(f"[load {machine.load()}] pair {pair + 1} of {pairs}: "
                  + ", ".join(f"{way} {rows[-1]:.1f} tokens/s" for way, rows in runs.items() if rows), file=sys.stderr)
    ratios = [mine / peer for mine, peer in zip(*runs.values())]
    return dict(tokens_per_s={way: statistics.median(rows) for way, rows in runs.items() if rows},
                ratio=statistics.median(ratios) if ratios else None, ratios=sorted(ratios))


def measure(node, pairs, peers_python=None):
    return {name: measure_case(node, case, pairs, peers_python) for name, case in CASES.items()}


if __name__ == "__main__":
    print(json.dumps(measure(Node(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:]), indent=1))
