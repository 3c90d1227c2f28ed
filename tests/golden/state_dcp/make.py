"""Writes two checkpoints with torch.distributed.checkpoint, in the layout of the original's training jobs, and what
they hold. Usage: python make.py"""

import gzip
import pathlib
import pickle
import shutil
import tempfile

import safetensors.torch
import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
import torch.multiprocessing as mp
from torch import nn
from torch.distributed.checkpoint.filesystem import _StorageInfo
from torch.distributed.checkpoint.metadata import (
    BytesStorageMetadata,
    ChunkStorageMetadata,
    Metadata,
    MetadataIndex,
    TensorProperties,
    TensorStorageMetadata,
)
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Shard, distribute_tensor

HERE = pathlib.Path(__file__).parent
HIDDEN, HEAD, HEADS, KV, INNER, EXPERTS = 8, 4, 2, 1, 4, 4


class Nest(nn.Module):
    """Modules and parameters by dotted names, in the given order."""

    def __init__(self, shapes, dtype):
        super().__init__()
        for name, shape in shapes.items():
            *path, last = name.split(".")
            module = self
            for part in path:
                if part not in module._modules:
                    module.add_module(part, nn.Module())
                module = module._modules[part]
            module.register_parameter(last, nn.Parameter(torch.empty(shape, dtype=dtype)))


def attention(layer):
    return {
        f"{layer}.self_attn.q_proj.weight": (HEADS * HEAD, HIDDEN),
        f"{layer}.self_attn.k_proj.weight": (KV * HEAD, HIDDEN),
        f"{layer}.self_attn.v_proj.weight": (KV * HEAD, HIDDEN),
        f"{layer}.self_attn.o_proj.weight": (HIDDEN, HEADS * HEAD),
        f"{layer}.self_attn.q_norm.weight": (HEAD,),
        f"{layer}.self_attn.k_norm.weight": (HEAD,),
    }


def norms(layer):
    return {f"{layer}.input_layernorm.weight": (HIDDEN,), f"{layer}.post_attention_layernorm.weight": (HIDDEN,)}


def sparse_layer(layer):
    mlp = f"{layer}.mlp"
    return attention(layer) | {
        f"{mlp}.router.gate.weight": (EXPERTS, HIDDEN),
        f"{mlp}.grouped_experts.gate_proj.weight": (EXPERTS, HIDDEN, INNER),
        f"{mlp}.grouped_experts.up_proj.weight": (EXPERTS, HIDDEN, INNER),
        f"{mlp}.grouped_experts.down_proj.weight": (EXPERTS, INNER, HIDDEN),
    } | norms(layer)


def dense_layer(layer):
    return attention(layer) | {
        f"{layer}.mlp.gate_proj.weight": (INNER, HIDDEN),
        f"{layer}.mlp.up_proj.weight": (INNER, HIDDEN),
        f"{layer}.mlp.down_proj.weight": (HIDDEN, INNER),
    } | norms(layer)


def values(name, shape, dtype, salt):
    """The same on every rank, whatever the ranks are."""
    generator = torch.Generator().manual_seed(sum(name.encode()) * 1009 + salt)
    return torch.randn(shape, generator=generator).to(dtype)


def names(module):
    return [name for name, _ in module.named_parameters()]


def set_values(module, mesh):
    for name in names(module):
        owner = module.get_submodule(name.rpartition(".")[0])
        last = name.rpartition(".")[2]
        parameter = owner._parameters[last]
        full = values(name, parameter.shape, parameter.dtype, 0)
        if mesh is not None:
            full = distribute_tensor(full, mesh, [Shard(0)])
        owner._parameters[last] = nn.Parameter(full)


def train(module, optimizer, mesh, steps):
    for step in range(steps):
        for name, parameter in module.named_parameters():
            gradient = values(name, parameter.shape, parameter.dtype, 1 + step)
            parameter.grad = gradient if mesh is None else distribute_tensor(gradient, mesh, [Shard(0)])
        optimizer.step()


def whole(tensor):
    return tensor.full_tensor() if hasattr(tensor, "full_tensor") else tensor


def expected(module, optimizer):
    found = {}
    for name, parameter in module.named_parameters():
        found[f"param/{name}"] = whole(parameter.detach()).clone()
        for kind, value in optimizer.state[parameter].items():
            if kind != "step":
                found[f"{kind}/{name}"] = whole(value).clone()
    return found


def sparse_stage(rank_of_pipeline):
    if rank_of_pipeline == 0:
        return {
            "model.embed_tokens.token_embedding.regular.weight": (6, HIDDEN),
            "model.embed_tokens.token_embedding.special.weight": (2, HIDDEN),
        } | sparse_layer("model.layers.0")
    return sparse_layer("model.layers.1") | {
        "model.norm.weight": (HIDDEN,),
        "head.lm_head.regular.weight": (6, HIDDEN),
        "head.lm_head.special.weight": (2, HIDDEN),
    }


def sparse_rank(rank, folder):
    """0.24: four ranks, two pipeline stages of two shards each; fp32, AdamW."""
    dist.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=rank, world_size=4)
    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("pp", "dp_cp_shard"))
    stage = mesh["pp"].get_local_rank()
    module = Nest(sparse_stage(stage), torch.float32)
    set_values(module, mesh["dp_cp_shard"])
    optimizer = torch.optim.AdamW(module.parameters(), lr=0.01, foreach=False)
    train(module, optimizer, mesh["dp_cp_shard"], 3)
    key = f"pp_{stage}_stage_0"
    state = {
        "schedule": {"current_step": 3},
        "tracked_modules": {key: module.state_dict()},
        "microbatch_pack_stream": {f"dp_{rank % 2}": {"loader": {"_steps": 3}}},
        "task": {},
        "optimizer": {key: optimizer.state_dict()},
        "lr_scheduler": {key: {"last_epoch": 3, "base_lrs": [0.01]}},
    }
    dcp.save({"state": state}, checkpoint_id=f"{folder}/sparse/save-3")
    parts = [None] * 4
    dist.all_gather_object(parts, expected(module, optimizer))
    if rank == 0:
        safetensors.torch.save_file(parts[0] | parts[2], HERE / "sparse.safetensors")
    dist.destroy_process_group()


def dense(folder):
    """0.16: one process; bfloat16 with moments in bfloat16 and steps as plain integers, as stochastic AdamW has."""
    shapes = {"model.embed_tokens.token_embedding.regular.weight": (8, HIDDEN)} | dense_layer("model.layers.0")
    shapes |= {"model.norm.weight": (HIDDEN,), "lm_head.lm_head.regular.weight": (8, HIDDEN)}
    module = Nest(shapes, torch.bfloat16)
    set_values(module, None)
    optimizer = torch.optim.SGD(module.parameters(), lr=0.01)
    for name, parameter in module.named_parameters():
        optimizer.state[parameter] = {
            "step": 5,
            "exp_avg": values(name, parameter.shape, torch.bfloat16, 1),
            "exp_avg_sq": values(name, parameter.shape, torch.bfloat16, 2).abs(),
        }
    # A weight that lies transposed in memory.
    down = module.get_submodule("model.layers.0.mlp.down_proj")
    state = module.state_dict()
    state["model.layers.0.mlp.down_proj.weight"] = down.weight.detach().t().contiguous().t()
    key = "pp_0_stage_0"
    tree = {
        "stepper": {"current_step": 5, "total_steps": 9},
        "tracked_modules": {key: state},
        "data_loader": {"dp_0": {}},
        "optimizer": {key: optimizer.state_dict() | {"_d9d_generator_state": torch.Generator().get_state()[:16]}},
    }
    dcp.save({"state": tree}, checkpoint_id=f"{folder}/dense/save-5", no_dist=True)
    safetensors.torch.save_file(expected(module, optimizer), HERE / "dense.safetensors")


def write_metadata(name, chunks, length=2000, offset=0, change=None, places=None):
    """Of one tensor [4, 2] in such parts: (offsets, sizes)."""
    parts = [ChunkStorageMetadata(torch.Size(begin), torch.Size(size)) for begin, size in chunks]
    described = TensorStorageMetadata(TensorProperties(torch.float32), torch.Size([4, 2]), parts)
    stored = {
        MetadataIndex("t", torch.Size(begin), i): _StorageInfo("__0_0.distcp", offset, length, change)
        for i, (begin, _) in enumerate(chunks[:places])
    }
    metadata = Metadata({"t": described, "n": BytesStorageMetadata()}, {"t": ("t",), "n": ("n",)}, stored)
    stored[MetadataIndex("n")] = _StorageInfo("__0_0.distcp", 0, 10)
    (HERE / "bad" / name).write_bytes(pickle.dumps(metadata, protocol=4))


def bad_metadata():
    (HERE / "bad").mkdir(exist_ok=True)
    upper, lower = ((0, 0), (2, 2)), ((2, 0), (2, 2))
    write_metadata("good", [upper, lower])
    write_metadata("overlap", [upper, ((1, 0), (3, 2))])
    write_metadata("gap", [upper])
    write_metadata("outside", [upper, ((2, 0), (3, 2))])
    write_metadata("unplaced", [upper, lower], places=1)
    write_metadata("beyond", [upper, lower], offset=3000)
    write_metadata("short", [upper, lower], length=15)
    write_metadata("extension", [upper, lower], change=["stream.zstd"])


if __name__ == "__main__":
    bad_metadata()
    with tempfile.TemporaryDirectory() as folder:
        mp.spawn(sparse_rank, (folder,), nprocs=4)
        dense(folder)
        for name in ("sparse/save-3", "dense/save-5"):
            target = HERE / name.split("/")[0]
            shutil.rmtree(target, ignore_errors=True)
            target.mkdir()
            for file in sorted(pathlib.Path(folder, name).iterdir()):
                packed = gzip.compress(file.read_bytes(), mtime=0)
                (target / (file.name.lstrip(".") + ".gz")).write_bytes(packed)
