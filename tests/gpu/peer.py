"""Tokens per second of transformers with torch.compile on one GPU: `peer.py qwen3|qwen3_moe "hidden_size: 2048, ..."`.
bfloat16 parameters and moments (its fastest way; ours has float32 masters besides), fused AdamW, compiled layers and loss,
4 x 4096 tokens a step. The better of one and of four samples at a time counts."""

import statistics
import sys
import time

import torch
import torch.nn.functional as F
import transformers
import yaml

SAMPLES, LENGTH, STEPS = 4, 4096, 8
torch._dynamo.config.automatic_dynamic_shapes = False


def model_of(family, words):
    kinds = {"qwen3": transformers.Qwen3Config, "qwen3_moe": transformers.Qwen3MoeConfig}
    config = kinds[family](**yaml.safe_load("{" + words + "}"))
    config._attn_implementation = "sdpa"
    if family == "qwen3_moe":
        config._experts_implementation = "grouped_mm"
    torch.set_default_dtype(torch.bfloat16)
    with torch.device("cuda"):
        model = transformers.AutoModelForCausalLM.from_config(config)
    torch.set_default_dtype(torch.float32)
    return model.train()


@torch.compile
def loss_of(hidden, weight, labels):
    return F.cross_entropy((hidden @ weight.T).float(), labels)


def seconds_of_steps(model, microbatch):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, weight_decay=0.0, fused=True)
    ids = torch.randint(model.config.vocab_size, (SAMPLES, LENGTH + 1), device="cuda")
    seconds = []
    for _ in range(STEPS):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        for rows in ids.split(microbatch):
            hidden = model.model(input_ids=rows[:, :-1], use_cache=False).last_hidden_state
            loss = loss_of(hidden.flatten(0, 1), model.lm_head.weight, rows[:, 1:].flatten())
            (loss * microbatch / SAMPLES).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0, foreach=True)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        loss.item()
        seconds.append(time.perf_counter() - begin)
    return statistics.median(seconds[3:])


def main(family, words):
    begin = time.perf_counter()
    model = model_of(family, words)
    for layer in model.model.layers:
        layer.compile()
    rates = {}
    for microbatch in 1, 4:
        try:
            rates[microbatch] = SAMPLES * LENGTH / seconds_of_steps(model, microbatch)
        except torch.OutOfMemoryError:
            torch.cuda.empty_cache()
            rates[microbatch] = 0
        print(f"{microbatch} at a time: {rates[microbatch]:.0f} tokens/s, {torch.cuda.max_memory_allocated() >> 20} MiB, "
              f"after {time.perf_counter() - begin:.0f} s", flush=True)
    print(f"RESULT transformers {transformers.__version__}, compiled: {max(rates.values()):.0f} tokens/s")


if __name__ == "__main__":
    main(*sys.argv[1:])
