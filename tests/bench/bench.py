#!/usr/bin/env python3
"""Runs the whole benchmark and writes results.json and results.md; run.sh builds and calls it."""
import argparse
import datetime
import json
import os
import statistics
import sys

import conversion
import fine_tuning
import generation
import machine
import overhead
import programs
import report
from runs import OURS, STRATEGIES, Node, Peers
from workloads import WORKLOADS

CELLS = [("1 rank x 2 threads", "hf"), ("2 ranks x 1 thread", "ddp"), ("2 ranks, fully sharded", "fsdp2"),
         ("2 stages x 1 thread", "pp_1f1b"), ("2 stages, zero bubble", "pp_zb1p")]
PARTS = ("roof", "train", "strategies", "compiled", "hops", "pipeline", "memory", "shares", "overhead", "convert",
         "lora", "generation")


def arguments():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--build", required=True, help="build folder with d9d-node and bench/")
    p.add_argument("--out", help="folder of the results (default: BUILD/bench)")
    p.add_argument("--peers", default=os.environ.get("D9D_PEERS"),
                   help="folder with the peers' bench.py; default $D9D_PEERS")
    p.add_argument("--peers-python", default="python3", help="the interpreter of the peers' environment")
    p.add_argument("--pairs", type=int, default=5)
    p.add_argument("--steps", type=int, default=10, help="timed steps of a run of tiny_moe; the larger ones take half")
    p.add_argument("--workloads", default=",".join(WORKLOADS))
    p.add_argument("--peer-names", default=",".join(peer for _, peer in CELLS), help="which rows of the training table")
    p.add_argument("--parts", default=",".join(part for part in PARTS if part not in ("compiled", "lora", "generation")),
                   help=f"of {','.join(PARTS)}")
    p.add_argument("--overhead-seconds", type=float, default=140, help="of each of its cases")
    p.add_argument("--autogroup", type=int,
                   help="priority of everything measured on a shared machine, e.g. -19; needs root")
    p.add_argument("--isa", choices=("best", "avx2"), default="best",
                   help="newest instructions that ours and the peers may use; default: what the CPU has")
    return p.parse_args()


def spread(values):
    return dict(median=statistics.median(values), min=min(values), max=max(values))


def summary(runs):
    names = ("step_s", "cpu_s_per_step", "first_step_s", "rss_mib", "load", "others_cpu_share")
    return {name: spread([run[name] for run in runs if run[name] is not None]) for name in names
            if any(run[name] is not None for run in runs)}


def paired(node, peers, workload, mesh, peer, pairs, steps):
    """A B A B ...; a pair's ratio is peer's step time by ours: above 1 we are faster."""
    ours, theirs, error = [], [], None
    for pair in range(pairs):
        ours.append(node.train(workload, OURS[mesh], steps + 3))
        if peers is not None and error is None:
            row = peers.train(peer, workload, steps + 3)
            error = row.get("error")
            theirs += [] if error else [row]
        progress(f"{workload}, {mesh}, pair {pair + 1} of {pairs}: {ours[-1]['step_s']:.3f} s"
                 + (f", {peer} {theirs[-1]['step_s']:.3f} s" if theirs else ""))
    cell = dict(workload=workload, mesh=mesh, ours=summary(ours), loss_ours=ours[-1]["loss"], pairs=pairs)
    if error:
        cell["peer_error"] = error
    if theirs and not error:
        cell.update(peer=peer, theirs=summary(theirs),
                    ratio=spread([t["step_s"] / o["step_s"] for o, t in zip(ours, theirs)]),
                    cpu_ratio=spread([t["cpu_s_per_step"] / o["cpu_s_per_step"] for o, t in zip(ours, theirs)
                                      if o["cpu_s_per_step"]]))
    return cell


def progress(text):
    print(f"[load {machine.load()}] {text}", file=sys.stderr, flush=True)


def train(node, peers, options, results):
    rows = results.setdefault("train", [])
    for workload in options.workloads.split(","):
        steps = options.steps if workload == "tiny_moe" else max(3, options.steps // 2)
        for mesh, peer in (cell for cell in CELLS if cell[1] in options.peer_names.split(",")):
            rows.append(paired(node, peers, workload, mesh, peer, options.pairs, steps))


def strategies(node, options, results):
    """Two ranks of one thread under each strategy, alternated."""
    rows = results.setdefault("strategies", [])
    for workload in options.workloads.split(","):
        steps = options.steps if workload == "tiny_moe" else max(3, options.steps // 2)
        names = [name for name in STRATEGIES if name != "experts apart" or workload.endswith("moe")]
        runs = {name: [] for name in names}
        for _ in range(options.pairs):
            for name in names:
                settings = {**STRATEGIES[name], "node.threads_per_rank": 1}
                runs[name].append(node.train(workload, settings, steps + 3))
                progress(f"{workload}, {name}: {runs[name][-1]['step_s']:.3f} s")
        rows += [dict(workload=workload, mesh=name, ours=summary(runs[name])) for name in names]


def main():
    options = arguments()
    parts = options.parts.split(",")
    if unknown := set(parts) - set(PARTS):
        sys.exit(f"--parts: no part is called {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}")
    if options.autogroup is not None:
        machine.prefer(options.autogroup)
    if options.isa == "avx2":
        os.environ.update(machine.AVX2)
    out = options.out or os.path.join(options.build, "bench")
    node = Node(os.path.join(options.build, "d9d-node"))
    peers = Peers(options.peers, options.peers_python) if options.peers else None
    if peers is None:
        progress("no --peers DIR and no $D9D_PEERS: only ours is measured, there will be no ratios")
    results = dict(date=datetime.date.today().isoformat(), version=node.version, machine=machine.describe(),
                   peers=peers.versions() if peers else [])
    runners = dict(
        roof=lambda: results.update(roof=programs.gemm_roof(options.build)),
        hops=lambda: results.update(hops=programs.actor_hops(options.build, 20000),
                                    zmq={k: peers.round_trip(k) for k in ("zmq_inproc", "zmq_tcp")} if peers else {}),
        pipeline=lambda: results.update(pipeline=programs.pipeline(options.build, options.pairs)),
        memory=lambda: results.update(memory=programs.memory(node)),
        shares=lambda: results.update(shares=programs.step_shares(node, options.steps + 3)),
        overhead=lambda: results.update(overhead=overhead.measure(options.build, options.overhead_seconds)),
        convert=lambda: results.update(convert=conversion.measure(
            node.binary, options.pairs, options.peers_python if options.peers else None)),
        lora=lambda: results.update(lora=fine_tuning.measure(
            node, options.pairs, 3, options.peers_python if options.peers else None)),
        generation=lambda: results.update(generation=generation.measure(
            node, options.pairs, options.peers_python if options.peers else None)),
        train=lambda: train(node, peers, options, results),
        strategies=lambda: strategies(node, options, results),
        compiled=lambda: results.setdefault("train", []).append(
            paired(node, peers, "tiny_moe", "1 rank x 2 threads", "hf_compile", 1, options.steps)) if peers else None)
    for part in sorted(parts, key=PARTS.index):
        progress(part)
        runners[part]()
        results.setdefault("measured", {})[part] = dict(ended=datetime.datetime.now().isoformat(timespec="seconds"),
                                                       load=machine.load())
        os.makedirs(out, exist_ok=True)
        with open(os.path.join(out, "results.json"), "w") as f:
            json.dump(results, f, indent=1)
        with open(os.path.join(out, "results.md"), "w") as f:
            f.write(report.markdown(results))
    print(f"wrote {out}/results.json and {out}/results.md")


if __name__ == "__main__":
    main()
