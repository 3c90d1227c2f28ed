"""Writes the same small state twice as Hugging Face tools do: in shards with an index, and as one file."""
from pathlib import Path

import torch
from huggingface_hub import save_torch_state_dict

here = Path(__file__).parent
state = {"a.weight": torch.arange(30.0).reshape(6, 5), "b.weight": torch.arange(7).to(torch.bfloat16),
         "c": torch.arange(6).reshape(2, 3)}
for folder, limit in (("sharded", 60), ("single", "1GB")):
    (here / folder).mkdir(exist_ok=True)
    save_torch_state_dict(state, here / folder, max_shard_size=limit)
