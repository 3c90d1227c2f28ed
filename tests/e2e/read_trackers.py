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


def wandb_losses():
    from wandb.proto import wandb_internal_pb2
    from wandb.sdk.internal.datastore import DataStore

    losses = {}
    for path in glob.glob(os.path.join(folder, "runs/*/trackers/wandb/offline-run-*/*.wandb")):
        store = DataStore()
        store.open_for_scan(path)
        while True:
            data = store.scan_data()
            if data is None:
                break
            record = wandb_internal_pb2.Record()
            record.ParseFromString(data)
            items = {item.key or "/".join(item.nested_key): json.loads(item.value_json) for item in record.history.item}
            if "loss" in items:
                losses[items["_step"]] = items["loss"]
    return [losses[step] for step in sorted(losses)]


def mlflow_losses():
    from mlflow import MlflowClient

    client = MlflowClient(tracking_uri="sqlite:///" + os.path.join(folder, "mlflow.db"))
    run, = client.search_runs([client.get_experiment_by_name("e").experiment_id])
    assert run.info.status == "FINISHED", run.info.status
    history = client.get_metric_history(run.info.run_id, "loss")
    return [metric.value for metric in sorted(history, key=lambda metric: metric.step)]


def aim_losses():
    from aim import Repo

    run, = Repo.from_path(os.path.join(folder, "aim")).iter_runs()
    for metric in run.metrics():
        if metric.name == "loss":
            return metric.values.values_list()
    return []


print(json.dumps({"wandb": wandb_losses(), "mlflow": mlflow_losses(), "aim": list(aim_losses())}))
