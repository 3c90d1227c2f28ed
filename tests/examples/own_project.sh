#!/usr/bin/env bash
# examples/own_project as an installed d9d-node loads it: three steps of its task and its model, then its actors at work.
#   own_project.sh D9D_NODE BUILD_FOLDER
#
# The model's own plan must not change the numbers: a second run shares its matrices, too.
set -euo pipefail
train() {
  local run="$1"
  shift
  rm -rf -- "$run"
  "$node" examples/own_project/job.yaml --set "plugins.0=$folder/libmine.so" --set "output_dir=$run" \
    --set trainer.schedule.total_steps=3 --set trainer.logging.period_steps=1 "$@"
  [ "$(grep -c '"metrics/right_mass":[0-9]' "$run/metrics.jsonl")" = 3 ] ||
    { echo "the task's metric is not in each of three steps:"; cat "$run/metrics.jsonl"; exit 1; }
}
numbers() { sed -E 's/.*"loss":([0-9.]+).*"grad_norm":([0-9.]+).*/\1 \2/' "$1/metrics.jsonl"; }

node="$1" folder="$2"
# The package has the plugin show its entries alone: nothing of it stands in for another plugin's. What std makes for types
# of ours keeps the visibility of std; a plugin's own comes first in its scope.
shown="$(nm -D --defined-only "$folder/libmine.so" | cut -d' ' -f3- | grep -E '^(d9d|_ZT?[A-Z]?N?K?(3d9d|4mine))' |
  sort | tr '\n' ' ')"
[ "$shown" = "d9d_plugin_headers d9d_register d9d_register_actors " ] ||
  { echo "libmine.so shows other symbols than its entries: $shown"; exit 1; }
train "$folder/run"
train "$folder/shared" --set mesh.tensor_parallel=2
paste <(numbers "$folder/run") <(numbers "$folder/shared") | awk '
  function differ(a, b) { return !(a > 0 && b > 0) || (a - b) ^ 2 > (1e-5 * a) ^ 2 }
  { print; bad += differ($1, $3) || differ($2, $4) }
  END { exit bad > 0 || NR != 3 }' || { echo "losses and gradient norms with shared matrices are others"; exit 1; }

# Samples of one step are spoiled: the guard has the job go back; the sampler's texts are there.
run="$folder/guarded"
rm -rf -- "$run"
"$node" examples/own_project/job.yaml --set "plugins.0=$folder/libmine.so" --set "output_dir=$run" \
  --set 'data.spoiled=[480,496]' --set trainer.schedule.total_steps=60 2>&1 | tee "$run.log"
grep -q "going back from step" "$run.log" || { echo "nobody went back"; exit 1; }
grep -q '"roll_backs":1' "$run/metrics.jsonl" || { echo "no roll-back in metrics.jsonl"; exit 1; }
[ "$(grep -c '"samples/0":"5 9 2' "$run/metrics.jsonl")" -ge 4 ] || { echo "the sampler's texts are missing"; exit 1; }
[ "$(grep -c ',loss,' "$run/table.csv")" = 60 ] || { echo "not every loss is in the table"; exit 1; }
