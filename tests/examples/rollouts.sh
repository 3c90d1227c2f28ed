#!/usr/bin/env bash
# examples/rollouts as an installed d9d-node loads it: the mean reward rises to its bound on one rank, and two ranks
# begin with the same texts.
#   rollouts.sh D9D_NODE BUILD_FOLDER
set -euo pipefail
node="$1" folder="$2"
lib="$folder/librollouts.so"
train() {
  local run="$1"
  shift
  rm -rf -- "$run"
  "$node" examples/rollouts/job.yaml --set "plugins.0=$lib" --set "output_dir=$run" "$@"
}
rewards() { sed -nE 's/.*"metrics\/reward":([0-9.]+).*/\1/p' "$1/metrics.jsonl"; }

shown="$(nm -D --defined-only "$lib" | cut -d' ' -f3- | grep -E '^(d9d|_ZT?[A-Z]?N?K?(3d9d|4mine))' | sort | tr '\n' ' ')"
[ "$shown" = "d9d_plugin_headers d9d_register " ] || { echo "librollouts.so shows other symbols: $shown"; exit 1; }
"$node" check examples/rollouts/job.yaml --set "plugins.0=$lib" --set "output_dir=$folder/run" |
  grep -q "^texts: keys and values of those that the model writes" || { echo "check does not count the caches of texts"; exit 1; }
train "$folder/run"
rewards "$folder/run" | awk '
  NR == 1 { first = $1 } { last = $1 }
  END { print "mean reward", first, "->", last; exit !(NR == 30 && first < 0.3 && last > 0.95) }' ||
  { echo "the mean reward does not rise from below 0.3 to above 0.95:"; rewards "$folder/run"; exit 1; }
sed -nE 's/.*"metrics\/off_policy":([0-9.e-]+).*/\1/p' "$folder/run/metrics.jsonl" | awk '
  { worst = $1 > worst ? $1 : worst } END { exit !(NR == 30 && worst < 1e-5) }' ||
  { echo "training and writing do not compute the same probabilities"; exit 1; }

short=(--set trainer.schedule.total_steps=5 --set trainer.logging.period_steps=1)
train "$folder/alone" "${short[@]}"
for mesh in '{data_parallel_replicate: 2}' '{pipeline_parallel: 2}'; do
  train "$folder/two" "${short[@]}" --set "mesh=$mesh"
  paste <(rewards "$folder/alone") <(rewards "$folder/two") | awk '
    { bad += ($1 - $2) ^ 2 > 1e-12 } END { exit bad > 0 || NR != 5 }' ||
    { echo "mesh $mesh has other rewards:"; paste <(rewards "$folder/alone") <(rewards "$folder/two"); exit 1; }
done
