"""Writes expect.adamw_8bit.json: steps of AdamW with moments of 8 bits, written from Dettmers, Lewis, Shleifer and
Zettlemoyer 2022, "8-bit Optimizers via Block-wise Quantization" (arXiv 2110.02861), sections 1.2, 1.3 and 2, in
numpy. Two rules are ours (kernels/optimizer/block_quantization.hpp): -1 is a value, and what is positive does not become 0.

Usage: python make_adamw_8bit.py   (numpy)
"""
import json
import pathlib

import numpy as np

F32 = np.float32
MARGIN = 1e-6  # no value is nearer to the middle between two codes: other orders of operations round alike


def magnitudes(first):
    values = [0.0]
    for exponent in range(-6, 1):
        count = first * 2 ** (exponent + 6)
        values += [10.0 ** exponent * (0.1 + 0.9 * (2 * i + 1) / (2 * count)) for i in range(count)]
    return values + [1.0]


POSITIVE = magnitudes(2)
ABOVE = magnitudes(1)
BELOW = ABOVE[:-2] + ABOVE[-1:]


def nearest(share, values):
    middles = (np.array(values[:-1]) + np.array(values[1:])) / 2
    assert np.abs(middles - share).min() > MARGIN * share, share
    return F32(values[int(np.searchsorted(middles, share))])


def quantized(x, block, positive):
    """What x stands for after its bytes: fp32, of the same shape."""
    result = np.zeros_like(x)
    for begin in range(0, len(x), block):
        part = x[begin:begin + block]
        scale = np.abs(part).max()
        if scale < 1e-30:
            continue
        for i, value in enumerate(part):
            share = F32(abs(value) / scale)
            code = nearest(share, POSITIVE if positive else BELOW if value < 0 else ABOVE)
            if positive and value > 0 and code == 0:
                code = F32(POSITIVE[1])
            result[begin + i] = np.copysign(code * scale, value) if code else F32(0)
    return result


def step(weight, grad, first, second, number, lr, betas, eps, weight_decay, block_size):
    beta1, beta2 = betas
    first = F32(beta1) * first + F32(1 - beta1) * grad
    second = F32(beta2) * second + F32(1 - beta2) * grad * grad
    root = np.sqrt(second) / F32(np.sqrt(1 - beta2 ** number)) + F32(eps)
    weight = weight * F32(1 - lr * weight_decay) - F32(lr / (1 - beta1 ** number)) * first / root
    return weight, quantized(first, block_size, False), quantized(second, block_size, True)


def make_case(name, size, seed, steps=4, **options):
    rng = np.random.default_rng(seed)
    weight = rng.standard_normal(size).astype(F32)
    case = dict(name=name, options=options, start=weight.tolist(), gradients=[])
    first, second = np.zeros(size, F32), np.zeros(size, F32)
    for number in range(1, steps + 1):
        # of very different magnitudes, some zero
        grad = (rng.standard_normal(size) * 10.0 ** rng.uniform(-5, 0, size) * (rng.random(size) > 0.1)).astype(F32)
        weight, first, second = step(weight, grad, first, second, number, **options)
        case["gradients"].append(grad.tolist())
    case.update(end=weight.tolist(), exp_avg=first.tolist(), exp_avg_sq=second.tolist())
    return case


if __name__ == "__main__":
    cases = [
        make_case("blocks", 150, 20, lr=0.01, betas=[0.9, 0.999], eps=1e-8, weight_decay=0.1, block_size=32),
        make_case("one_block", 70, 30, lr=0.003, betas=[0.8, 0.95], eps=1e-6, weight_decay=0.0, block_size=2048),
        make_case("blocks_of_one", 12, 40, lr=0.1, betas=[0.9, 0.99], eps=1e-8, weight_decay=0.01, block_size=1),
    ]
    path = pathlib.Path(__file__).parent / "expect.adamw_8bit.json"
    path.write_text(json.dumps(dict(cases=cases)) + "\n")
    print(path.stat().st_size, "bytes")
