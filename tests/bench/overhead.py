"""Measures what tracing, and metrics with trackers, cost a step. Two jobs that differ only in these take turns.

    python3 tests/bench/overhead.py [--build build/release] [--seconds 140] [--steps 2] [--cases nothing,tracing,metrics]
    python3 tests/bench/overhead.py --beside build/other      # what another build costs: of a commit, of another LibTorch

Both jobs live all the time (turns_plugin.cpp), and one of them computes: A B, B A, A B ... A turn has two costs: the time of
its steps by the clock (the critical path), and the CPU time of all threads until the job's next turn begins. A pair's ratio
is the cost with the feature over that without. Printed are the median of all pairs and its 95 % bootstrap interval. The case
`nothing` runs the same job twice: its interval shows the smallest difference that the machine resolves. A job has one rank
of one thread, so that work beside a step has a core of its own.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

import machine
from paired import cost_text, interval

HERE = os.path.dirname(os.path.abspath(__file__))
QUIET = {"node.trace": "false", "trainer.logging": '{period_steps: 1000000, tracker: {provider: "null"}}'}
# name: what is on
BUILD = "build"  # the case of --beside
CASES = {"nothing": {},
         "tracing": {"node.trace": "true"},
         "metrics": {"trainer.logging": "{period_steps: 1, expert_load: layers, tracker: {provider: tensorboard}}"}}
WARMUP = 3


class Job:
    """A job: its process, and the pipes over which it gets turns and reports their times."""

    def __init__(self, build, workload, settings, folder):
        os.mkdir(folder)
        turns, self.turns_end = os.pipe()
        reports_end, reports = os.pipe()
        everything = {"plugins": f"[{os.path.abspath(build)}/bench/libd9d_turns_plugin.so]",
                      "task": f"{{name: turns, turns: {turns}, reports: {reports}}}", "node.threads_per_rank": 1,
                      "trainer.schedule.total_steps": 1000000, "output_dir": folder, **QUIET, **settings}
        command = [os.path.join(build, "d9d-node"), os.path.join(HERE, "jobs", workload + ".yaml")]
        for key, value in everything.items():
            command += ["--set", f"{key}={value}"]
        self.log = os.path.join(folder, "log.txt")
        with open(self.log, "w") as out:
            self.process = subprocess.Popen(command, stdout=out, stderr=out, pass_fds=(turns, reports))
        os.close(turns)
        os.close(reports)
        self.reports = os.fdopen(reports_end)
        self.line("end")

    def line(self, what):
        """Reads a report: seconds by the clock and of the CPU."""
        words = self.reports.readline().split()
        if len(words) != 4 or words[0] != what:
            self.process.wait()
            with open(self.log) as log:
                sys.exit(f"a job of the benchmark ended:\n{log.read()[-2000:]}")
        return tuple(1e-9 * int(word) for word in words[2:])

    def turn(self, steps):
        """Runs some steps; returns the reports of their begin and their end."""
        os.write(self.turns_end, f"{steps}\n".encode())
        return self.line("begin"), self.line("end")

    def stop(self):
        self.process.kill()
        self.process.wait()


def costs(turns, steps):
    """Seconds a step, of each turn but the last: by the clock, and of the CPU until the next turn begins."""
    return [((end[0] - begin[0]) / steps, (after[0][1] - begin[1]) / steps)
            for (begin, end), after in zip(turns, turns[1:])]


def measure_case(builds, workload, on, seconds, steps):
    """`builds`: of the job without the feature, and of the one with it."""
    with tempfile.TemporaryDirectory(prefix="d9d-bench-") as folder:
        jobs = []
        try:
            for name, build, settings in zip(("off", "on"), builds, ({}, on)):
                jobs.append(Job(build, workload, settings, os.path.join(folder, name)))
            taken = ([], [])
            for job in jobs:
                job.turn(WARMUP)
            end, pair = time.monotonic() + seconds, 0
            while time.monotonic() < end or pair < 3:
                for side in ((0, 1), (1, 0))[pair % 2]:
                    taken[side].append(jobs[side].turn(steps))
                pair += 1
        finally:
            for job in jobs:
                job.stop()
    off, on = (costs(turns, steps) for turns in taken)
    return {name: dict(interval([b[column] / a[column] for a, b in zip(off, on)]),
                       off_s=sorted(a[column] for a in off)[len(off) // 2])
            for column, name in enumerate(("clock", "processor"))}


def measure(build, seconds, steps=2, cases=tuple(CASES), workload="tiny_moe", beside=None):
    results = {}
    for case in cases:
        results[case] = measure_case((build, beside or build), workload, CASES.get(case, {}), seconds, steps)
        print(f"[load {machine.load()}] {case}: by the clock {cost_text(results[case]['clock'])}, by the processor "
              f"{cost_text(results[case]['processor'])}", file=sys.stderr, flush=True)
    return results


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build/release")
    parser.add_argument("--beside", help="another build folder, whose jobs have the same settings; instead of the cases")
    parser.add_argument("--seconds", type=float, default=140, help="of each case")
    parser.add_argument("--steps", type=int, default=2, help="of a turn")
    parser.add_argument("--cases", default=",".join(CASES))
    parser.add_argument("--workload", default="tiny_moe", help="of jobs/")
    options = parser.parse_args()
    cases = [BUILD] if options.beside else options.cases.split(",")
    if unknown := set(cases) - set(CASES) - ({BUILD} if options.beside else set()):
        sys.exit(f"--cases: there is no {', '.join(sorted(unknown))}; there are {', '.join(CASES)}")
    results = measure(options.build, options.seconds, options.steps, cases, options.workload, options.beside)
    print(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
