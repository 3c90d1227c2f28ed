"""d9d-node convert of a Qwen3-MoE folder of 1 GB, in alternation with a plain copy; transformers once."""
import json
import os
import shutil
import statistics
import struct
import subprocess
import tempfile

import machine

HIDDEN, VOCAB, LAYERS, EXPERTS, INNER, HEADS, KV_HEADS, HEAD_DIM = 1024, 151936, 4, 32, 512, 16, 8, 64
CONFIG = dict(architectures=["Qwen3MoeForCausalLM"], model_type="qwen3_moe", torch_dtype="bfloat16", vocab_size=VOCAB,
              hidden_size=HIDDEN, intermediate_size=4 * INNER, num_hidden_layers=LAYERS, num_attention_heads=HEADS,
              num_key_value_heads=KV_HEADS, head_dim=HEAD_DIM, moe_intermediate_size=INNER, num_experts=EXPERTS,
              num_experts_per_tok=4, decoder_sparse_step=1, mlp_only_layers=[], norm_topk_prob=True,
              tie_word_embeddings=False, rms_norm_eps=1e-6, rope_theta=1e6, max_position_embeddings=4096,
              hidden_act="silu", attention_bias=False)
WAYS = {"same tensors": [], "experts fused": ["--mapper", "experts_fused"], "float16": ["--dtype", "float16"]}
COPY = 'cp -r "$1" "$2" && sync -f "$2"'  # convert, too, ends with its bytes on the disk
TRANSFORMERS = """import sys
from transformers import AutoModelForCausalLM
AutoModelForCausalLM.from_pretrained(sys.argv[1], dtype="auto").save_pretrained(sys.argv[2])"""


def tensors():
    yield "model.embed_tokens.weight", [VOCAB, HIDDEN]
    for layer in range(LAYERS):
        at = f"model.layers.{layer}."
        for name in ("input_layernorm", "post_attention_layernorm"):
            yield f"{at}{name}.weight", [HIDDEN]
        for name, shape in (("q_proj", [HEADS * HEAD_DIM, HIDDEN]), ("k_proj", [KV_HEADS * HEAD_DIM, HIDDEN]),
                            ("v_proj", [KV_HEADS * HEAD_DIM, HIDDEN]), ("o_proj", [HIDDEN, HEADS * HEAD_DIM]),
                            ("q_norm", [HEAD_DIM]), ("k_norm", [HEAD_DIM])):
            yield f"{at}self_attn.{name}.weight", shape
        yield at + "mlp.gate.weight", [EXPERTS, HIDDEN]
        for expert in range(EXPERTS):
            for name, shape in (("gate_proj", [INNER, HIDDEN]), ("up_proj", [INNER, HIDDEN]),
                                ("down_proj", [HIDDEN, INNER])):
                yield f"{at}mlp.experts.{expert}.{name}.weight", shape
    yield "model.norm.weight", [HIDDEN]
    yield "lm_head.weight", [VOCAB, HIDDEN]


def write_folder(folder):
    """Random bytes that are finite as bfloat16; returns how many."""
    header, at = {}, 0
    for name, shape in tensors():
        size = 2 * (shape[0] * shape[1] if len(shape) == 2 else shape[0])
        header[name] = dict(dtype="BF16", shape=shape, data_offsets=[at, at + size])
        at += size
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    os.makedirs(folder)
    block = bytes(value & 0x3f for value in os.urandom(1 << 20))
    with open(os.path.join(folder, "model.safetensors"), "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text)
        for begin in range(0, at, len(block)):
            f.write(block[:min(len(block), at - begin)])
    with open(os.path.join(folder, "config.json"), "w") as f:
        json.dump(CONFIG, f)
    subprocess.run(["sync"], check=True)
    return at


def timed(command, target, size):
    row = machine.watch(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    if row["exit_code"] != 0:
        raise SystemExit(f"{' '.join(command)} failed with {row['exit_code']}")
    shutil.rmtree(target)
    return dict(mb_per_s=size / row["seconds"] / 1e6, peak_rss_mib=row["peak_rss_mib"], seconds=row["seconds"])


def measure(binary, pairs, peers_python=None):
    rows, ratios, working = ({way: [] for way in WAYS} for _ in range(3))
    copies, starts = [], []
    with tempfile.TemporaryDirectory(prefix="d9d-bench-") as folder:
        source, target = os.path.join(folder, "from"), os.path.join(folder, "to")
        size = write_folder(source)
        copy = ["sh", "-c", COPY, "copy", source, target]
        timed(copy, target, size)  # the source is in the page cache for all that follow
        for pair in range(pairs):
            for way, options in WAYS.items():
                command = [binary, "convert", "--from", source, "--to", target, *options]
                # Either goes first in turn: where on the disk the file system puts a file changes its time by up to six.
                runs = [lambda: copies.append(timed(copy, target, size)),
                        lambda: rows[way].append(timed(command, target, size))]
                for run in runs if pair % 2 == 0 else reversed(runs):
                    run()
                starts.append(machine.watch([binary, "--version"], stdout=subprocess.DEVNULL)["seconds"])
                ratios[way].append(copies[-1]["seconds"] / rows[way][-1]["seconds"])
                working[way].append(copies[-1]["seconds"] / (rows[way][-1]["seconds"] - starts[-1]))
        transformers = timed([peers_python, "-c", TRANSFORMERS, source, target], target, size) if peers_python else None
    median = lambda runs: {key: statistics.median(run[key] for run in runs) for key in runs[0]}
    best = lambda runs: min(run["seconds"] for run in runs)
    return dict(folder_mb=size / 1e6, copy=median(copies), copy_best_s=best(copies), start_s=statistics.median(starts), transformers=transformers,
                ways={way: dict(**median(rows[way]), ratio_to_copy=statistics.median(ratios[way]),
                                ratio_without_start=statistics.median(working[way]), best_s=best(rows[way]),
                                ratio_of_best=best(copies) / best(rows[way])) for way in WAYS})


if __name__ == "__main__":
    import sys
    print(json.dumps(measure(sys.argv[1], int(sys.argv[2]), *sys.argv[3:]), indent=1))
