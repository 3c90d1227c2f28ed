"""Steps of optimizers as PyTorch makes them, for tests/runtime/train/optimizer/muon_test.cpp.

    python tests/golden/optimizer/make.py

torch.optim.Muon orthogonalises in bfloat16; here its own function runs in float32, because d9d computes in the type
of its state. A stack of matrices is one optimizer with a parameter for each matrix.
"""
import json
import pathlib

import torch
from torch.optim import _muon

STEPS = 4


def orthogonalized(grad, coefficients, steps, eps):
    a, b, c = coefficients
    x = grad.T if grad.size(0) > grad.size(1) else grad
    x = x / x.norm().clamp(min=eps)
    for _ in range(steps):
        gram = x @ x.T
        x = torch.addmm(x, torch.addmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return x.T if grad.size(0) > grad.size(1) else x


_muon._zeropower_via_newtonschulz = orthogonalized


def numbers(tensor):
    return tensor.detach().flatten().tolist()


def case(name, shape, **options):
    generator = torch.Generator().manual_seed(len(name))
    start = torch.randn(shape, generator=generator)
    gradients = [torch.randn(shape, generator=generator) for _ in range(STEPS)]
    parts = list(start.clone()) if len(shape) == 3 else [start.clone()]
    parameters = [torch.nn.Parameter(part) for part in parts]
    optimizer = torch.optim.Muon(parameters, **options)
    for gradient in gradients:
        for parameter, part in zip(parameters, gradient if len(shape) == 3 else [gradient]):
            parameter.grad = part.clone()
        optimizer.step()
    momentum = torch.stack([optimizer.state[p]["momentum_buffer"] for p in parameters]).reshape(shape)
    end = torch.stack([p.detach() for p in parameters]).reshape(shape)
    return {
        "name": name, "shape": list(shape), "options": options, "start": numbers(start),
        "gradients": [numbers(g) for g in gradients], "end": numbers(end), "momentum": numbers(momentum),
    }


CASES = [
    case("wide", (5, 12), lr=0.02, weight_decay=0.1),
    case("tall", (12, 5), lr=0.02, weight_decay=0.1),
    case("square, no nesterov", (7, 7), lr=0.05, weight_decay=0.0, momentum=0.8, nesterov=False),
    case("stack of tall matrices", (3, 8, 4), lr=0.02, weight_decay=0.1, adjust_lr_fn="match_rms_adamw"),
    case("three steps of the iteration", (4, 6), lr=0.02, weight_decay=0.0, ns_steps=3),
]

folder = pathlib.Path(__file__).parent
(folder / "expect.muon.json").write_text(json.dumps({"torch": torch.__version__, "cases": CASES}) + "\n")
