"""Prints the losses that W&B (offline), MLflow and Aim have of the run in the folder argv[1], by their own clients, once
their bridges have ended. As JSON: {"wandb": [..], "mlflow": [..], "aim": [..]}, in the order of steps."""

import fcntl
import glob
import json
import os
import sys

folder = sys.argv[1]
for lock in glob.glob(os.path.join(folder, "runs/*/trackers/*.lock")):
    with open(lock) as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # until its bridge has ended


def records_of(path):
    """The records of an offline run, whose client writes them as a log in LevelDB's form and has no reader of it."""
    header, block, head = 7, 32768, 7  # bytes of the file's head, of a block, before each part of a record
    full, first, last = 1, 2, 4
    with open(path, "rb") as file:
        data = file.read()
    at, record = header, b""
    while at + head <= len(data):
        if block - at % block < head:
            at += block - at % block
            continue
        length, kind = int.from_bytes(data[at + 4:at + 6], "little"), data[at + 6]
        part = data[at + head:at + head + length]
        at += head + length
        record = part if kind in (full, first) else record + part
        if kind in (full, last):
            yield record


def wandb_losses():
    from wandb.proto import wandb_internal_pb2

    losses = {}
    for path in sorted(glob.glob(os.path.join(folder, "runs/*/trackers/wandb/offline-run-*/*.wandb"))):
        for data in records_of(path):
            record = wandb_internal_pb2.Record()
            record.ParseFromString(data)
            items = {item.key or "/".join(item.nested_key): json.loads(item.value_json)
                     for item in record.history.item}
            if "loss" in items:
                losses[record.history.step.num] = items["loss"]
    return [losses[step] for step in sorted(losses)]


def mlflow_losses():
    from mlflow import MlflowClient

    client = MlflowClient(tracking_uri="sqlite:///" + os.path.join(folder, "mlflow.db"))
    run, = client.search_runs([client.get_experiment_by_name("e").experiment_id])
    assert run.info.status == "FINISHED", run.info.status
    history = client.get_metric_history(run.info.run_id, "loss")
    return [metric.value for metric in sorted(history, key=lambda metric: metric.step)]


def aim_losses():
    from aim import Repo, Run
    from aim.sdk.index_manager import RepoIndexManager

    repo = Repo.from_path(os.path.join(folder, "aim"))
    run_hash, = repo.list_all_runs()
    RepoIndexManager.get_index_manager(repo).index(run_hash)  # as `aim up` does
    for metric in Run(run_hash=run_hash, repo=repo, read_only=True).metrics():
        if metric.name == "loss":
            steps, columns = metric.data.items_list()
            return [value for _, value in sorted(zip(steps, columns[0]))]
    return []


print(json.dumps({"wandb": wandb_losses(), "mlflow": mlflow_losses(), "aim": list(aim_losses())}))
