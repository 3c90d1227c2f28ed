"""Writes expect.safetensors with the safetensors library: one tensor of each element type, values i * 3 - 5."""
from pathlib import Path

import torch
from safetensors.torch import save_file

here = Path(__file__).parent
types = dict(F64=torch.float64, F32=torch.float32, F16=torch.float16, BF16=torch.bfloat16, I64=torch.int64,
             I32=torch.int32, I16=torch.int16, I8=torch.int8)
tensors = {name: (torch.arange(24) * 3 - 5).to(dtype).reshape(2, 3, 4) for name, dtype in types.items()}
tensors["U8"] = (torch.arange(24) * 3).to(torch.uint8).reshape(2, 3, 4)
tensors["BOOL"] = (torch.arange(24) % 3 == 0).reshape(2, 3, 4)
tensors["scalar"] = torch.tensor(2.5)
tensors["empty"] = torch.empty(0, 4)
tensors["name with \"quotes\" and \u00fc"] = torch.tensor([7], dtype=torch.int8)
save_file(tensors, here / "expect.safetensors", metadata={"format": "pt", "note": "golden"})
