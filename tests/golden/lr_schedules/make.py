"""Learning rates of every step from transformers' schedules, for the short forms of `lr_scheduler`.

Writes expect.json: {name: {"total_steps", "lr_scheduler" (the section of a job file), "multipliers" (of every step)}}.
Run: python make.py   (the versions are in origin.md)
"""
import json
import pathlib

import torch
from transformers import optimization as o

HERE = pathlib.Path(__file__).parent


def multipliers(make, steps):
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
    schedule = make(optimizer)
    values = []
    for _ in range(steps):
        values.append(schedule.get_last_lr()[0])
        optimizer.step()
        schedule.step()
    return values


CASES = {
    "constant": (20, "constant", o.get_constant_schedule),
    "constant_warm": (20, {"name": "constant", "warmup_steps": 7},
                      lambda opt: o.get_constant_schedule_with_warmup(opt, 7)),
    "linear": (30, "linear", lambda opt: o.get_linear_schedule_with_warmup(opt, 0, 30)),
    "linear_warm": (30, {"name": "linear", "warmup_steps": 9},
                    lambda opt: o.get_linear_schedule_with_warmup(opt, 9, 30)),
    "cosine": (40, {"name": "cosine"}, lambda opt: o.get_cosine_schedule_with_warmup(opt, 0, 40)),
    "cosine_warm": (40, {"name": "cosine", "warmup_ratio": 0.11},  # 4.4 steps: 5, as the Trainer rounds
                    lambda opt: o.get_cosine_schedule_with_warmup(opt, 5, 40)),
    "cosine_min": (37, {"name": "cosine", "warmup_steps": 3, "min_ratio": 0.1},
                   lambda opt: o.get_cosine_with_min_lr_schedule_with_warmup(opt, 3, 37, min_lr_rate=0.1)),
    "wsd": (50, {"name": "wsd", "warmup_steps": 5, "decay_steps": 12},
            lambda opt: o.get_wsd_schedule(opt, num_warmup_steps=5, num_decay_steps=12, num_training_steps=50)),
    "wsd_min": (50, {"name": "wsd", "warmup_steps": 5, "decay_ratio": 0.3, "min_ratio": 0.05, "curve": "linear"},
                lambda opt: o.get_wsd_schedule(opt, num_warmup_steps=5, num_decay_steps=15, num_training_steps=50,
                                               decay_type="linear", min_lr_ratio=0.05)),
    "wsd_root": (50, {"name": "wsd", "decay_ratio": 0.2, "curve": {"type": "poly", "power": 0.5}},
                 lambda opt: o.get_wsd_schedule(opt, num_warmup_steps=0, num_decay_steps=10, num_training_steps=50,
                                                decay_type="1-sqrt")),
    "wsd_tenth": (50, "wsd", lambda opt: o.get_wsd_schedule(opt, num_warmup_steps=0, num_decay_steps=5,
                                                            num_training_steps=50)),
}


def main():
    out = {name: {"total_steps": steps, "lr_scheduler": section, "multipliers": multipliers(make, steps)}
           for name, (steps, section, make) in CASES.items()}
    (HERE / "expect.json").write_text(json.dumps(out, indent=1) + "\n")


if __name__ == "__main__":
    main()
