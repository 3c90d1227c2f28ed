"""The C++ programs of the benchmark and what else is read off single runs."""
import json
import os
import subprocess
import tempfile

import machine
from runs import OURS, STRATEGIES

# Shapes of matrix products: a large one that shows the best rate, and those of the workloads.
ROOF = "2048x2048x2048"


def output_of(command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)} failed with {done.returncode}:\n{done.stderr[-2000:]}")
    return done.stdout


def gemm_roof(build):
    """Best fp32 rates of one thread, GFLOP/s over CPU time: torch.mm and our GEMM on 2048^3, ours on any shape."""
    program = os.path.join(build, "bench", "kernels_bench")
    text = output_of([program, "--benchmark_filter=^Gemm/", "--benchmark_min_time=0.1", "--benchmark_repetitions=5",
                      "--benchmark_format=json"])
    best = {}
    for row in json.loads(text)["benchmarks"]:
        if row.get("run_type") == "iteration":
            name = row["run_name"].removeprefix("Gemm/")
            best[name] = max(best.get(name, 0), row["GFLOP/s"])
    return dict(torch_mm=best[f"{ROOF}/aten"], ours=best[f"{ROOF}/d9d"],
                ours_best_shape=max(v for k, v in best.items() if k.endswith("/d9d")), shapes=best)


def actor_hops(build, rounds):
    return json.loads(output_of([os.path.join(build, "bench", "bench_actors"), "--rounds", str(rounds)]))


def pipeline(build, steps):
    return json.loads(output_of([os.path.join(build, "bench", "bench_pipeline"), "--steps", str(steps)]))


def memory(node):
    """Peak MiB of d9d-node printing its version (all libraries are loaded), and of one with next to no model."""
    with open(os.devnull, "w") as null:
        loaded = machine.watch([node.binary, "--version"], stdout=null)["peak_rss_mib"]
    return dict(libraries_mib=loaded, node_without_model_mib=node.train("no_model", {}, 1)["rss_mib"])


def step_shares(node, steps):
    """Shares of the time of traced tiny_moe steps, by mesh. `hidden`: communication that ran beside compute."""
    rows = []
    meshes = {name: OURS[name] for name in ("1 rank x 1 thread", "1 rank x 2 threads")}
    meshes.update({"2 ranks x 1 thread: " + name: {**settings, "node.threads_per_rank": 1}
                   for name, settings in STRATEGIES.items()})
    for mesh, settings in meshes.items():
        with tempfile.TemporaryDirectory(prefix="d9d-bench-") as folder:
            node.train("tiny_moe", settings, steps, keep=folder)
            traces = [os.path.join(folder, "traces", name) for name in os.listdir(os.path.join(folder, "traces"))]
            report = json.loads(output_of([node.binary, "trace", "--json", *traces]))
        total = sum(rank["time_ns"]["total"] for rank in report["ranks"])
        split = {key: sum(rank["time_ns"][key] for rank in report["ranks"]) / total
                 for key in ("compute", "exposed_communication", "bubble", "mailbox_wait", "other")}
        communication = sum(rank["communication_ns"] for rank in report["ranks"])
        exposed = sum(rank["time_ns"]["exposed_communication"] for rank in report["ranks"])
        hidden = 1 - exposed / communication if communication > 0.001 * total else None
        rows.append(dict(mesh=mesh, **split, hidden=hidden, lost=report.get("lost", 0)))
    return rows
