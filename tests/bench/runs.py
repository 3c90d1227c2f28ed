"""One run of ours, one run of a peer: both as a dict with the same keys."""
import json
import os
import shutil
import statistics
import subprocess
import tempfile

import machine

HERE = os.path.dirname(os.path.abspath(__file__))
WARMUP = 3
OURS = {  # name -> settings of the job
    "1 rank x 2 threads": {"node.threads_per_rank": 2},
    "2 ranks x 1 thread": {"mesh.data_parallel_replicate": 2, "node.threads_per_rank": 1},
    "2 ranks, fully sharded": {"mesh.data_parallel_shard": 2, "node.threads_per_rank": 1},
    "2 stages x 1 thread": {"mesh.pipeline_parallel": 2, "node.threads_per_rank": 1},
    "1 rank x 1 thread": {"node.threads_per_rank": 1},
    "2 stages, zero bubble": {"mesh.pipeline_parallel": 2, "node.threads_per_rank": 1,
                              "trainer.pipelining.schedule": "{schedule: 1f1b, zero_bubble: true}"},
}
# The same two ranks under each strategy: name -> settings. Experts only where the model has some.
STRATEGIES = {
    "replicas": {"mesh.data_parallel_replicate": 2},
    "replicas, ZeRO-1": {"mesh.data_parallel_replicate": 2, "parallelism.zero1": "true"},
    "fully sharded": {"mesh.data_parallel_shard": 2},
    "fully sharded, reduced each microbatch": {"mesh.data_parallel_shard": 2,
                                               "parallelism.fully_shard.reduce": "microbatch"},
    "experts apart": {"mesh.data_parallel_replicate": 2, "mesh.expert_parallel": 2},
    "tensor parallel": {"mesh.tensor_parallel": 2},
    "context parallel, ring": {"mesh.context_parallel_replicate": 2},
    "context parallel, Ulysses": {"mesh.context_parallel_replicate": 2, "parallelism.context.attention": "ulysses"},
    "2 stages, 1F1B": {"mesh.pipeline_parallel": 2},
    "2 stages, zero bubble": {"mesh.pipeline_parallel": 2,
                              "trainer.pipelining.schedule": "{schedule: 1f1b, zero_bubble: true}"},
    "2 stages, zero bubble V": {"mesh.pipeline_parallel": 2,
                                "trainer.pipelining.schedule": "{schedule: zero_bubble_v}"},
}


class Node:
    """d9d-node of one build."""

    def __init__(self, binary):
        self.binary = binary
        self.version = subprocess.run([binary, "--version"], capture_output=True, text=True).stdout.strip()

    def train(self, job, settings, steps, keep=None):
        """Runs jobs/<job>.yaml. keep: folder that gets the run's output."""
        folder = keep or tempfile.mkdtemp(prefix="d9d-bench-")
        command = [self.binary, os.path.join(HERE, "jobs", job + ".yaml")]
        everything = {"trainer.schedule.total_steps": steps, "output_dir": folder, **settings}
        for key, value in everything.items():
            command += ["--set", f"{key}={value}"]
        seen = []  # (steps finished, CPU seconds so far)
        metrics = os.path.join(folder, "metrics.jsonl")

        def count_steps(pid):
            try:
                with open(metrics, "rb") as f:
                    lines = f.read().count(b"\n")
            except OSError:
                return
            cpu = machine.cpu_of(pid)
            if cpu is not None and (not seen or lines > seen[-1][0]):
                seen.append((lines, cpu))

        log = os.path.join(folder, "log.txt")
        with open(log, "w") as out:
            ran = machine.watch(command, count_steps, stdout=out, stderr=out)
        with open(log) as f:
            text = f.read()
        if ran["exit_code"] != 0:
            raise SystemExit(f"{' '.join(command)}\nfailed with {ran['exit_code']}:\n{text[-2000:]}")
        with open(metrics) as f:
            lines = [json.loads(line) for line in f]
        if keep is None:
            shutil.rmtree(folder)
        return self.figures(ran, lines, seen)

    @staticmethod
    def figures(ran, lines, seen):
        timed = [line["step_seconds"] for line in lines[WARMUP:]] or [lines[-1]["step_seconds"]]
        late = [entry for entry in seen if entry[0] >= WARMUP]
        cpu = None
        if len(late) >= 2:
            cpu = (late[-1][1] - late[0][1]) / (late[-1][0] - late[0][0])
        return dict(step_s=statistics.median(timed), step_s_min=min(timed), cpu_s_per_step=cpu,
                    first_step_s=lines[0]["time"] - ran["began"], rss_mib=ran["peak_rss_mib"], load=ran["load"],
                    others_cpu_share=ran["others_cpu_share"], loss=lines[-1]["loss"])


class Peers:
    """The folder with bench.py; `python` runs it."""

    def __init__(self, folder, python):
        self.folder, self.python = folder, python

    def train(self, peer, workload, steps):
        # It adds steps until enough were undisturbed; --max-time and --max-steps keep it at as many as ours.
        command = [self.python, os.path.join(self.folder, "bench.py"), "--peer", peer, "--workload", workload,
                   "--dtype", "float32", "--steps", str(steps - WARMUP), "--warmup", str(WARMUP),
                   "--max-time", "1", "--max-steps", str(steps)]
        done = subprocess.run(command, capture_output=True, text=True, cwd=self.folder)
        lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
        row = json.loads(lines[-1]) if lines else dict(error=done.stderr[-500:])
        if "error" in row:
            return dict(error=row["error"])
        return dict(step_s=row["step_s_median"], step_s_min=row["step_s_min"], cpu_s_per_step=row["cpu_s_median"],
                    first_step_s=row["t_first_step_s"], rss_mib=row["rss_mib_sum"], load=machine.load(),
                    others_cpu_share=row["noise_mean"], loss=row["loss"][-1])

    def versions(self):
        code = ("import importlib.metadata as m\n"
                "for p in ('torch','transformers','pyzmq'):\n"
                "  try: print(p, m.version(p))\n"
                "  except Exception: pass")
        return subprocess.run([self.python, "-c", code], capture_output=True, text=True).stdout.split("\n")[:-1]

    def round_trip(self, kind):
        command = [self.python, os.path.join(self.folder, "rpc_bench.py"), "--peer", kind]
        done = subprocess.run(command, capture_output=True, text=True, cwd=self.folder, timeout=300)
        lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
        return json.loads(lines[-1]) if lines else dict(error=done.stderr[-500:])
