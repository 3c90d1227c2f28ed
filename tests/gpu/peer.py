"""Tokens per second of transformers with torch.compile on one GPU:
`peer.py qwen3|qwen3_moe "hidden_size: 2048, ..." bfloat16|autocast [SAMPLES AT ONCE...]`.
bfloat16: parameters, gradients and moments are, its fastest way. autocast: they are float32, products are in bfloat16, as a
Trainer with bf16: true and d9d by default have it. Fused AdamW, compiled layers and loss, 4 x 4096 tokens a step."""

import statistics
import sys
import time

import torch
import torch.nn.functional as F
import transformers
import yaml

SAMPLES, LENGTH, STEPS = 4, 4096, 8
torch._dynamo.config.automatic_dynamic_shapes = False


def model_of(family, words, dtype):
    kinds = {"qwen3": transformers.Qwen3Config, "qwen3_moe": transformers.Qwen3MoeConfig}
    config = kinds[family](**yaml.safe_load("{" + words + "}"))
    config._attn_implementation = "sdpa"
    if family == "qwen3_moe":
        config._experts_implementation = "grouped_mm"
    torch.set_default_dtype(dtype)
    with torch.device("cuda"):
        model = transformers.AutoModelForCausalLM.from_config(config)
    torch.set_default_dtype(torch.float32)
    return model.train()


@torch.compile
def loss_of(hidden, weight, labels):
    return F.cross_entropy((hidden @ weight.T).float(), labels)


def seconds_of_steps(model, microbatch, autocast):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, weight_decay=0.0, fused=True)
    ids = torch.randint(model.config.vocab_size, (SAMPLES, LENGTH + 1), device="cuda")
    seconds = []
    for _ in range(STEPS):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        for rows in ids.split(microbatch):
            with torch.autocast("cuda", torch.bfloat16, enabled=autocast):
                hidden = model.model(input_ids=rows[:, :-1], use_cache=False).last_hidden_state
                loss = loss_of(hidden.flatten(0, 1), model.lm_head.weight, rows[:, 1:].flatten())
            (loss * microbatch / SAMPLES).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0, foreach=True)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        loss.item()
        seconds.append(time.perf_counter() - begin)
    return statistics.median(seconds[3:])


def main(family, words, precision, *microbatches):
    begin = time.perf_counter()
    model = model_of(family, words, torch.bfloat16 if precision == "bfloat16" else torch.float32)
    for layer in model.model.layers:
        layer.compile()
    rates = {}
    for microbatch in map(int, microbatches or ("1", "4")):
        torch.cuda.reset_peak_memory_stats()
        try:
            rates[microbatch] = SAMPLES * LENGTH / seconds_of_steps(model, microbatch, precision == "autocast")
        except torch.OutOfMemoryError:
            rates[microbatch] = 0
        print(f"{microbatch} at once: {rates[microbatch]:.0f} tokens/s, {torch.cuda.max_memory_allocated() >> 20} MiB, "
              f"after {time.perf_counter() - begin:.0f} s", flush=True)
        model.zero_grad(set_to_none=True)
        torch.cuda.empty_cache()
    best = max(rates, key=rates.get)
    print(f"RESULT transformers {transformers.__version__}, compiled, {precision}: {rates[best]:.0f} tokens/s, {best} at once")


if __name__ == "__main__":
    main(*sys.argv[1:])
