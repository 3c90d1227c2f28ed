"""Kills `d9d-node convert` and `d9d-node export` at random moments and looks at what is left.

    python3 tests/bench/crashes.py build/release/d9d-node [kills] [seed]

After each kill the target must be the whole new model, the older model that was there, or nothing. The same command is then
started again: it must go on without help and leave the whole model and nothing else. Otherwise the script exits with 1.
"""
import hashlib
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time

import conversion

def contents(folder):
    """Hash of every file by its name; of folders in it the names."""
    found = {}
    for entry in os.scandir(folder):
        found[entry.name] = "folder" if entry.is_dir() else hashlib.md5(open(entry.path, "rb").read()).hexdigest()
    return found


def is_model(left):
    return "config.json" in left and ("model.safetensors" in left or "model.safetensors.index.json" in left)


def state_after_kill(target, whole, older):
    """Which model the target is: "whole", "older", "none"; anything else is a failure."""
    if not os.path.exists(target):
        return "none"
    left = contents(target)
    if not is_model(left):
        return "none"
    for name, expected in (("whole", whole), ("older", older)):
        if expected and all(left.get(file) == digest for file, digest in expected.items()):
            return name
    return f"a mixture: {sorted(left)}"


def crash(command, again, target, kills, rng, older=None):
    """`older`: a folder that the target is a copy of at first. Returns counts of what kills left."""
    shutil.rmtree(target, ignore_errors=True)
    begin = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    seconds = time.perf_counter() - begin
    whole, before = contents(target), contents(older) if older else None
    counts = {}
    for kill in range(kills):
        shutil.rmtree(target, ignore_errors=True)
        if older:
            shutil.copytree(older, target)
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(rng.uniform(0, 1.1 * seconds))
        process.kill()
        finished = process.wait() == 0
        state = state_after_kill(target, whole, before)
        leftovers = os.path.exists(target) and any(name.startswith(".d9d-") for name in os.listdir(target))
        key = "ended before" if finished else state + (" with leftovers" if leftovers else "")
        counts[key] = counts.get(key, 0) + 1
        if state not in ("whole", "older", "none"):
            raise SystemExit(f"kill {kill} left {state}")
        if state == "none":
            run = subprocess.run(again, capture_output=True, text=True)
            if run.returncode != 0 or contents(target) != whole:
                differs = {name for name, _ in set(contents(target).items()) ^ set(whole.items())}
                raise SystemExit(f"after kill {kill} the next run did not mend it: {sorted(differs)} {run.stderr}")
    return counts


def train(binary, folder, model):
    """One step from the model's weights; returns the folder of checkpoints."""
    job = dict(mesh={}, output_dir=os.path.join(folder, "run"), node=dict(trace=False),
               trainer=dict(run=dict(name="crash"), batching=dict(global_batch_size=2, microbatch_size=1),
                            schedule=dict(total_steps=1), checkpointing=dict(period_steps="last_step"),
                            logging=dict(period_steps=1, tracker=dict(provider="null")),
                            model_stage_factory=dict(source_checkpoint=model)),
               model_provider={"name": "qwen3_moe", "dtype": "bfloat16", "from": model},
               data=dict(source="synthetic", sequence_length=32, vocab_size=512), optimizer=dict(name="sgd", lr=0.001))
    path = os.path.join(folder, "job.yaml")
    with open(path, "w") as f:
        json.dump(job, f)
    subprocess.run([binary, path], check=True, stdout=subprocess.DEVNULL)
    return os.path.join(folder, "run", "checkpoints")


def main(binary, kills=100, seed=1):
    rng = random.Random(seed)
    conversion.VOCAB, conversion.EXPERTS = 16384, 8  # 140 MB
    conversion.CONFIG.update(vocab_size=conversion.VOCAB, num_experts=conversion.EXPERTS)
    with tempfile.TemporaryDirectory(prefix="d9d-crash-") as folder:
        at = lambda name: os.path.join(folder, name)
        size = conversion.write_folder(at("from"))
        words = [binary, "convert", "--from", at("from"), "--to", at("to"), "--shard-size", "40MB"]
        shutil.copytree(at("from"), at("older"))
        results = dict(megabytes=size / 1e6, kills=kills, seed=seed)
        results["convert"] = crash(words, words, at("to"), kills, rng)
        replacing = words + ["--replace"]
        results["convert --replace"] = crash(replacing, words, at("to"), kills, rng, at("older"))
        checkpoint = train(binary, folder, at("from"))
        export = [binary, "export", checkpoint, at("to"), "--shard-size", "40MB"]
        results["export"] = crash(export, export, at("to"), kills, rng)
        print(json.dumps(results, indent=1))


if __name__ == "__main__":
    main(sys.argv[1], *(int(word) for word in sys.argv[2:]))
