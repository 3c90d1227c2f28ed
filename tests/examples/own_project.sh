#!/usr/bin/env bash
# Three steps of examples/own_project with its task and its model, as an installed d9d-node loads them.
#   own_project.sh D9D_NODE BUILD_FOLDER
set -euo pipefail
run="$2/run"
rm -rf -- "$run"
"$1" examples/own_project/job.yaml --set "plugins.0=$2/libmine.so" --set "output_dir=$run" \
  --set trainer.schedule.total_steps=3 --set trainer.logging.period_steps=1
[ "$(grep -c '"metrics/plain_loss"' "$run/metrics.jsonl")" = 3 ] ||
  { echo "the task's own metric is not in each of three steps:"; cat "$run/metrics.jsonl"; exit 1; }
