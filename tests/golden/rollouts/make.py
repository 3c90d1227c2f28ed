"""Writes the golden files of tests/golden/rollouts: the first steps of examples/rollouts by Hugging Face transformers
and torch's autograd. Texts, rewards, advantages, loss, gradient and update are computed here, from the papers' equations and
the published generator; nothing comes from d9d.

Usage: python make.py   (torch, transformers >= 5, safetensors, numpy; see origin.md for versions)
"""
import json
import pathlib

import torch
from safetensors.torch import save_file
from transformers import Qwen3Config, Qwen3ForCausalLM

HERE = pathlib.Path(__file__).parent
WORD, LONG = (1 << 32) - 1, (1 << 64) - 1
END, FIRST_LETTER, FIRST_NUMBER = 0, 1, 5
SEED, GROUP, SAMPLES, NEW_TOKENS, STEPS, LR, CLIP = 5, 4, 16, 6, 4, 0.5, 0.05


def splitmix64(x):
    x = (x + 0x9E3779B97F4A7C15) & LONG
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & LONG
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & LONG
    return x ^ (x >> 31)


def stable_hash(text):  # FNV-1a, finished with splitmix64
    hashed = 0xCBF29CE484222325
    for byte in text.encode():
        hashed = ((hashed ^ byte) * 0x100000001B3) & LONG
    return splitmix64(hashed)


def bits64(seed, purpose, step, element):  # Philox4x32-10, Salmon et al. 2011
    key = splitmix64(seed ^ stable_hash(purpose))
    k0, k1 = key & WORD, key >> 32
    c = [element & WORD, element >> 32, step & WORD, step >> 32]
    for _ in range(10):
        p0, p1 = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(p1 >> 32) ^ c[1] ^ k0, p1 & WORD, (p0 >> 32) ^ c[3] ^ k1, p0 & WORD]
        k0, k1 = (k0 + 0x9E3779B9) & WORD, (k1 + 0xBB67AE85) & WORD
    return c[1] << 32 | c[0]


def below(seed, purpose, step, element, bound):
    return (bits64(seed, purpose, step, element) * bound) >> 64


def log_probs_of(model, ids):
    return torch.log_softmax(model(torch.tensor([ids])).logits[0].double(), -1)


def write(model, first):
    """Texts of one step, the inverse of the distribution function in the order of ids."""
    rollouts = []
    for number in range(first, first + SAMPLES):
        group = number // GROUP
        prompt = [FIRST_NUMBER + below(1, "prompts", group, 0, 4), FIRST_LETTER + below(1, "prompts", group, 1, 4)]
        text, said = [], []
        while len(text) < NEW_TOKENS and END not in text:
            with torch.no_grad():
                log_probs = log_probs_of(model, prompt + text)[-1]
            uniform = (bits64(SEED, "generate", number, len(text)) >> 11) * 2.0**-53
            sums = log_probs.exp().cumsum(0)
            token = int((sums <= uniform * sums[-1]).sum())
            assert (sums - uniform * sums[-1]).abs().min() > 1e-5, "too close to call in fp32; take another seed"
            text.append(token)
            said.append(float(log_probs[token]))
        rollouts.append(dict(prompt=prompt, text=text, log_probs=said))
    return rollouts


def reward(rollout):
    number, letter = rollout["prompt"][0] - FIRST_NUMBER + 1, rollout["prompt"][1]
    right = [letter] * number + [END]
    return sum(a == b for a, b in zip(rollout["text"], right)) / len(right)


def step(model, rollouts):
    """DeepSeekMath (arXiv 2402.03300), equation 3 with the advantage of section 4.1.2, without the KL term."""
    rewards = torch.tensor([reward(each) for each in rollouts], dtype=torch.float64).view(-1, GROUP)
    deviation = rewards.std(1, unbiased=False, keepdim=True)
    alike = rewards.amax(1, keepdim=True) == rewards.amin(1, keepdim=True)
    advantages = torch.where(~alike, (rewards - rewards.mean(1, keepdim=True)) / deviation, 0.0).flatten()
    gains = []
    for rollout, advantage in zip(rollouts, advantages):
        prompt, text = rollout["prompt"], rollout["text"]
        now = log_probs_of(model, prompt + text)[len(prompt) - 1:-1].gather(1, torch.tensor(text)[:, None])[:, 0]
        ratio = (now - torch.tensor(rollout["log_probs"], dtype=torch.float64)).exp()
        gains.append(torch.minimum(ratio * advantage, ratio.clamp(1 - CLIP, 1 + CLIP) * advantage).mean())
    loss = -torch.stack(gains).mean()
    model.zero_grad()
    loss.backward()
    grads = [p.grad for p in model.parameters()]
    norm = torch.sqrt(sum((g.double() ** 2).sum() for g in grads))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter -= LR * parameter.grad
    return dict(loss=loss.item(), grad_norm=float(norm), reward=float(rewards.mean()))


def run(lag):
    model = Qwen3ForCausalLM.from_pretrained(HERE / "model", dtype=torch.float32).eval()
    steps, waiting = [], []
    for number in range(1, STEPS + 1):
        while len(waiting) < lag + 1:  # by the weights after step number - 1
            waiting.append(write(model, (number - 1 + len(waiting)) * SAMPLES))
        steps.append(step(model, waiting.pop(0)))
    return steps


def main():
    torch.set_num_threads(1)
    torch.manual_seed(20261128)
    config = Qwen3Config(vocab_size=9, hidden_size=16, intermediate_size=24, num_hidden_layers=2, num_attention_heads=2,
                         num_key_value_heads=1, head_dim=8, max_position_embeddings=32, tie_word_embeddings=False,
                         rope_parameters=dict(rope_type="default", rope_theta=10000.0), use_cache=False)
    model = Qwen3ForCausalLM(config)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.normal_(1.0 if "norm" in name else 0.0, 0.1 if "norm" in name else 0.3)
    (HERE / "model").mkdir(exist_ok=True)
    save_file({name: p.detach().clone() for name, p in model.named_parameters()}, HERE / "model" / "model.safetensors",
              metadata={"format": "pt"})
    config.architectures = ["Qwen3ForCausalLM"]
    (HERE / "model" / "config.json").write_text(json.dumps(config.to_diff_dict() | {"torch_dtype": "float32"}, indent=1))
    (HERE / "expect.json").write_text(json.dumps({f"lag {lag}": run(lag) for lag in (0, 1, 2)}))


main()
