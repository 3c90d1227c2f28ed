"""`d9d-node generate` beside transformers' `generate`: a batch of 8 prompts of different lengths, greedy, the same folder.

    python3 tests/bench/generation.py [--build build/release] [--python PYTHON] [--pairs 8] [--cases quickstart,dense]

PYTHON is the interpreter of an environment with transformers; without it only ours is measured. The time is that from the
prompts to the last token, without loading; either goes first in turn. Printed: medians, and the median of the pairs' ratios
with 95 % of its bootstrap.
"""
import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile

import machine
from paired import interval, pairs_of, ratio_text
from fine_tuning import MODEL as DENSE_06B
from runs import Node

REPOSITORY = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
TOKENIZER = os.path.join(REPOSITORY, "examples", "quickstart", "tokenizer.json")
QUICKSTART = ("{vocab_size: 2048, hidden_size: 192, num_hidden_layers: 4, num_attention_heads: 6, "
              "num_key_value_heads: 2, head_dim: 32, num_experts: 8, num_experts_per_tok: 2, "
              "moe_intermediate_size: 256, norm_topk_prob: true, max_position_embeddings: 512, "
              "tie_word_embeddings: false}")
# name: (job that makes random weights, its model, dtype of both, new tokens)
CASES = {"quickstart": ("tiny_moe", QUICKSTART, "float32", 128),
         "dense": ("dense_06b", DENSE_06B, "bfloat16", 32)}
TITLES = {"quickstart": "the quickstart's model, float32", "dense": "0.6 B dense, bfloat16"}
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
print("ready", flush=True)
for line in sys.stdin:
    begin = time.perf_counter()
    made = model.generate(**options, max_new_tokens=new, min_new_tokens=new)
    seconds = time.perf_counter() - begin
    print(made.shape[0] * (made.shape[1] - batch["input_ids"].shape[1]) / seconds, flush=True)"""


def ours(node, folder, dtype, new, prompts):
    out = os.path.join(folder, "out.jsonl")
    done = subprocess.run([node.binary, "generate", folder, "--tokenizer", TOKENIZER, "--prompts", prompts,
                           "--temperature", "0", "--tokens", str(new), "--dtype", dtype, "--out", out],
                          capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"generate failed: {done.stderr[-2000:]}")
    tokens, seconds = re.match(r"(\d+) tokens for \d+ prompts in ([\d.]+) s", done.stdout).groups()
    return int(tokens) / float(seconds)


class Transformers:
    """Loads once; sleeps between its turns."""

    def __init__(self, python, folder, dtype, new, threads):
        self.log = os.path.join(folder, "transformers.txt")
        with open(self.log, "w") as log:
            self.process = subprocess.Popen(
                [python, "-c", PEER, folder, TOKENIZER, dtype, str(new), json.dumps(PROMPTS), str(threads)],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True,
                env={**os.environ, "HF_HUB_OFFLINE": "1"})
        self.answer()

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            with open(self.log) as log:
                raise SystemExit(f"transformers failed: {log.read()[-2000:]}")
        return line

    def rate(self):
        self.process.stdin.write("go\n")
        self.process.stdin.flush()
        return float(self.answer())

    def stop(self):
        self.process.stdin.close()
        self.process.wait()


def measure_case(node, case, pairs, peers_python):
    job, model, dtype, new = case
    with tempfile.TemporaryDirectory(prefix="d9d-bench-") as folder:
        base, prompts = os.path.join(folder, "base"), os.path.join(folder, "prompts.jsonl")
        vocabulary = re.search(r"vocab_size: (\d+)", model)[1]
        # One step of SGD, because moments of AdamW would take four times the memory of the weights.
        node.train(job, {"export_to": base, "optimizer": "{name: sgd, lr: 1.0e-6}",
                         "model_provider.model": model, "data.sequence_length": 8,
                         "data.vocab_size": vocabulary}, 1)
        with open(prompts, "w") as file:
            file.writelines(json.dumps(dict(prompt=prompt)) + "\n" for prompt in PROMPTS)
        def mine():
            return ours(node, base, dtype, new, prompts)

        mine()
        if not peers_python:
            rates = [mine() for _ in range(pairs)]
            return dict(tokens_per_s={"d9d-node generate": statistics.median(rates)}, ratio=None)
        peer = Transformers(peers_python, base, dtype, new, os.cpu_count())
        try:
            rates = pairs_of(pairs, mine, peer.rate)
        finally:
            peer.stop()
    return dict(tokens_per_s={"d9d-node generate": statistics.median(a for a, _ in rates),
                              "transformers": statistics.median(b for _, b in rates)},
                ratio=interval([a / b for a, b in rates]))


def measure(node, pairs, peers_python=None, cases=tuple(CASES)):
    results = {}
    for case in cases:
        row = results[TITLES[case]] = measure_case(node, CASES[case], pairs, peers_python)
        print(f"[load {machine.load()}] {TITLES[case]}: "
              + ", ".join(f"{way} {rate:.1f} tokens/s" for way, rate in row["tokens_per_s"].items())
              + (f", ratio {ratio_text(row['ratio'])}" if row["ratio"] else ""), file=sys.stderr, flush=True)
    return results


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build/release")
    parser.add_argument("--python")
    parser.add_argument("--pairs", type=int, default=8)
    parser.add_argument("--cases", default=",".join(CASES))
    options = parser.parse_args()
    print(json.dumps(measure(Node(os.path.join(options.build, "d9d-node")), options.pairs, options.python,
                             options.cases.split(",")), indent=1))


if __name__ == "__main__":
    main()
