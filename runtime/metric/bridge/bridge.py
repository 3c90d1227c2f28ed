"""Sends the numbers of a d9d run to an experiment tracker, with the tracker's own client.

d9d-node starts this script in a process of its own and appends values to a file. The script reads the file at its own
pace, so a slow or dead tracker does not slow the training. When its stdin is closed (the job has ended or died), it sends
the rest and ends.

argv[1], JSON: provider, settings (the job's keys of the tracker), values (that file), state (a file with the id of the run
at the tracker and the last step sent of each name, so that a resumed job continues the same run and sends nothing twice),
problem (a file that exists while the tracker takes nothing and says why; d9d-node shows it to the user), record (run.jsonl,
whose last line says how the job ended), run, description.
Lines of the file, JSON: {"hparams": {...}} first, then {"step": n, "values": {name: number | null | {counts, edges} | {text} | {picture: file}}}.
A name begins with the values of the context that the value has, if any; "contexts": {name: {name, context}} has the
two apart.
"""

import fcntl
import html
import json
import os
import re
import sys
import threading
import time
import traceback

POLL_SECONDS = 0.5
TRIES_AFTER_THE_END = 3
LONGEST_PAUSE_SECONDS = 60


def number(value):
    return float("nan") if value is None else value


def evenly(counts, edges, bins=64):
    """Spreads the counts over bins of equal width, in proportion to the overlap."""
    width = (edges[-1] - edges[0]) / len(counts)
    if all(abs(edges[0] + i * width - edge) <= 1e-9 * width for i, edge in enumerate(edges)):
        return counts, edges
    even = [edges[0] + i * (edges[-1] - edges[0]) / bins for i in range(bins + 1)]
    out = [0.0] * bins
    for count, low, high in zip(counts, edges, edges[1:]):
        for i in range(bins):
            overlap = min(high, even[i + 1]) - max(low, even[i])
            if overlap > 0:
                out[i] += count * overlap / (high - low)
    return out, even


def picture(make, path):
    """Returns None if the client cannot read the picture; the numbers are sent all the same."""
    try:
        return make(path)
    except Exception as error:
        print("the picture %s is left out, because the client cannot read it (%r); that needs pillow beside the client: "
              "pip install pillow" % (path, error), file=sys.stderr)
        return None


class Wandb:
    def __init__(self, job, run_id, hparams):
        import wandb

        self.wandb = wandb
        settings = job["settings"]
        online = settings["mode"] == "online"
        resume = None if run_id is None else ("must" if online else "allow")
        self.run = wandb.init(
            project=settings["project"], entity=settings["entity"], group=settings["group"],
            tags=settings["tags"] or None, mode=settings["mode"], dir=settings["dir"] or os.path.dirname(job["state"]),
            name=job["run"], notes=job["description"], config=hparams, id=run_id, resume=resume,
            settings=wandb.Settings(console="off"))
        self.run_id = self.run.id

    def send(self, step, values, contexts):
        def record(value):
            if not isinstance(value, dict):
                return number(value)
            if "text" in value:
                return self.wandb.Html("<pre>" + html.escape(value["text"]) + "</pre>")
            if "picture" in value:
                return picture(self.wandb.Image, value["picture"])
            return self.wandb.Histogram(np_histogram=(value["counts"], value["edges"]))

        records = {name: record(value) for name, value in values.items()}
        self.run.log({name: value for name, value in records.items() if value is not None}, step=step)

    def end(self, ok):
        self.run.finish(exit_code=0 if ok else 1)


class Mlflow:
    MOST_PARAMS = 100
    LONGEST_PARAM = 6000

    def __init__(self, job, run_id, hparams):
        from mlflow import MlflowClient
        from mlflow.entities import Metric, Param

        self.metric = Metric
        settings = job["settings"]
        self.client = MlflowClient(tracking_uri=settings["tracking_uri"])
        if run_id is None:
            experiment = self.client.get_experiment_by_name(settings["experiment"])
            experiment_id = experiment.experiment_id if experiment else self.client.create_experiment(
                settings["experiment"])
            tags = {"mlflow.note.content": job["description"]} if job["description"] else {}
            self.run_id = self.client.create_run(experiment_id, run_name=job["run"], tags=tags).info.run_id
            params = [Param(self.name(key), str(value)[:self.LONGEST_PARAM]) for key, value in hparams.items()]
            for begin in range(0, len(params), self.MOST_PARAMS):
                self.client.log_batch(self.run_id, params=params[begin:begin + self.MOST_PARAMS])
        else:
            self.run_id = run_id
            self.client.update_run(run_id, status="RUNNING")

    @staticmethod
    def name(text):
        return re.sub(r"[^\w\-. /]", "_", text)

    def send(self, step, values, contexts):
        now = int(time.time() * 1000)
        metrics = [self.metric(self.name(name), number(value), now, step) for name, value in values.items()
                   if not isinstance(value, dict)]
        if metrics:
            self.client.log_batch(self.run_id, metrics=metrics)
        for name, value in values.items():
            if isinstance(value, dict) and "text" in value:
                self.client.log_text(self.run_id, value["text"], f"{self.name(name)}/{step}.txt")
            elif isinstance(value, dict) and "picture" in value:
                self.client.log_artifact(self.run_id, value["picture"], self.name(name))

    def end(self, ok):
        self.client.set_terminated(self.run_id, "FINISHED" if ok else "FAILED")


class Aim:
    CONTEXT = {"stage": "train"}

    def __init__(self, job, run_id, hparams):
        import aim
        from aim.sdk.repo import Repo

        self.aim = aim
        settings = job["settings"]
        if "://" not in settings["repo"]:
            Repo.from_path(settings["repo"], init=True)
        self.run = aim.Run(
            run_hash=run_id, repo=settings["repo"], log_system_params=settings["log_system_params"],
            capture_terminal_logs=False, system_tracking_interval=settings["system_tracking_interval"])
        self.run_id = self.run.hash
        self.run.name = job["run"]
        if job["description"]:
            self.run.description = job["description"]
        self.run["hparams"] = hparams

    def send(self, step, values, contexts):
        for flat_name, value in values.items():
            apart = contexts.get(flat_name, {"name": flat_name, "context": {}})
            if isinstance(value, dict) and "text" in value:
                value = self.aim.Text(value["text"])
            elif isinstance(value, dict) and "picture" in value:
                value = picture(self.aim.Image, value["picture"])
                if value is None:
                    continue
            elif isinstance(value, dict):  # its bins are of one width
                counts, edges = evenly(value["counts"], value["edges"])
                value = self.aim.Distribution(hist=counts, bin_range=(edges[0], edges[-1]))
            else:
                value = number(value)
            self.run.track(value, name=apart["name"], step=step, context={**self.CONTEXT, **apart["context"]})

    def end(self, ok):
        self.run["ended"] = "finished" if ok else "failed"
        if ok:
            self.run.report_successful_finish()
        self.run.close()


PROVIDERS = {"wandb": Wandb, "mlflow": Mlflow, "aim": Aim}


class State:
    def __init__(self, path):
        self.path = path
        self.lock = open(path + ".lock", "w")
        fcntl.flock(self.lock, fcntl.LOCK_EX)  # an earlier start may still be sending its last numbers
        try:
            with open(path) as file:
                saved = json.load(file)
        except FileNotFoundError:
            saved = {}
        self.run_id = saved.get("id")
        self.sent = saved.get("sent", {})

    def save(self):
        with open(self.path + ".tmp", "w") as file:
            json.dump({"id": self.run_id, "sent": self.sent}, file)
        os.replace(self.path + ".tmp", self.path)


class Lines:
    """Reads the complete lines that were appended to a file since the last read()."""

    def __init__(self, path):
        self.file = open(path, "rb")
        self.rest = b""

    def read(self):
        *whole, self.rest = (self.rest + self.file.read()).split(b"\n")
        return [json.loads(line) for line in whole if line]


def ended_well(record):
    """Whether the last line of run.jsonl says that the job finished or was stopped. A killed job has no such line."""
    try:
        with open(record) as file:
            lines = file.read().split("\n")
        return json.loads([line for line in lines if line][-1]).get("end") in ("finished", "stopped")
    except (OSError, ValueError, IndexError):
        return False


class Bridge:
    def __init__(self, job):
        self.job = job
        self.state = State(job["state"])
        self.tracker = None
        self.waiting = []

    def pass_on(self, lines):
        self.waiting += lines
        while self.waiting:
            line = self.waiting[0]
            if "hparams" in line and self.tracker is None:
                self.tracker = PROVIDERS[self.job["provider"]](self.job, self.state.run_id, line["hparams"])
                self.state.run_id = self.tracker.run_id
            elif "values" in line:
                self.send(line["step"], line["values"], line.get("contexts", {}))
            self.waiting.pop(0)
        self.state.save()

    def send(self, step, values, contexts):
        fresh = {name: value for name, value in values.items() if self.state.sent.get(name, -1) < step}
        if fresh:
            self.tracker.send(step, fresh, contexts)
        self.state.sent.update(dict.fromkeys(fresh, step))


def say_problem(path, text):
    """Writes the problem as one line, atomically; `text` None removes the file, because numbers are sent again."""
    if text is None:
        if os.path.exists(path):
            os.remove(path)
        return
    with open(path + ".tmp", "w") as file:
        file.write(" ".join(text.split())[:500])
    os.replace(path + ".tmp", path)


def main():
    job = json.loads(sys.argv[1])
    over = threading.Event()

    def wait_for_the_end():
        while os.read(0, 4096):
            pass
        over.set()

    threading.Thread(target=wait_for_the_end, daemon=True).start()
    lines = Lines(job["values"])
    bridge = Bridge(job)
    failures = 0
    while True:
        last = over.is_set()
        try:
            bridge.pass_on(lines.read())
            failures = 0
            say_problem(job["problem"], None)
            if last:
                break
        except Exception as error:
            traceback.print_exc()
            say_problem(job["problem"], "%s: %s" % (type(error).__name__, error))
            failures += 1
            if last and failures >= TRIES_AFTER_THE_END:
                raise
        over.wait(min(POLL_SECONDS * 2 ** failures, LONGEST_PAUSE_SECONDS)) if not last else time.sleep(failures)
    if bridge.tracker is not None:
        bridge.tracker.end(ended_well(job["record"]))


if __name__ == "__main__":
    main()
