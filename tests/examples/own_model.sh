#!/usr/bin/env bash
# examples/own_model as an installed d9d-node loads it: its family trained on two ranks and on one, its folder read again,
# its adapter method trained and merged.
#   own_model.sh D9D_NODE BUILD_FOLDER
set -euo pipefail
node="$1" folder="$2"
lib="$folder/libown_model.so"
train() {
  local run="$1"
  shift
  rm -rf -- "$run"
  "$node" examples/own_model/job.yaml --set "plugins.0=$lib" --set "output_dir=$run" \
    --set trainer.schedule.total_steps=4 --set trainer.logging.period_steps=1 --set "export_to=$run/export" "$@"
}
numbers() { sed -E 's/.*"loss":([0-9.]+).*"grad_norm":([0-9.]+).*/\1 \2/' "$1/metrics.jsonl"; }
same() {
  paste <(numbers "$1") <(numbers "$2") | awk '
    function differ(a, b) { return !(a > 0 && b > 0) || (a - b) ^ 2 > (1e-4 * a) ^ 2 }
    { print; bad += differ($1, $3) || differ($2, $4) }
    END { exit bad > 0 || NR != 4 }' || { echo "$1 and $2 differ"; exit 1; }
}

shown="$(nm -D --defined-only "$lib" | cut -d' ' -f3- | grep -E '^(d9d|_ZT?[A-Z]?N?K?(3d9d|4mine))' | sort | tr '\n' ' ')"
[ "$shown" = "d9d_plugin_headers d9d_register_models " ] ||
  { echo "libown_model.so shows other symbols than its entries: $shown"; exit 1; }
train "$folder/sharded"
train "$folder/alone" --set mesh='{}'
same "$folder/sharded" "$folder/alone"

grep -q '"model_type": "parallel_moe"' "$folder/alone/export/config.json"
grep -aq 'model.layers.1.ffn.experts.7.w3.weight' "$folder/alone/export/"*.safetensors
"$node" check examples/own_model/job.yaml --set "plugins.0=$lib" --set "model_provider={name: parallel_moe, from: $folder/alone/export}" \
  --set "trainer.model_stage_factory.source_checkpoint=$folder/alone/export"
train "$folder/tuned" --set "trainer.model_stage_factory.source_checkpoint=$folder/alone/export" \
  --set 'model_provider.peft={kind: ia3, module_name_pattern: ".*(k|v)_proj"}'
cmp -s "$folder/tuned/export/config.json" "$folder/alone/export/config.json" || { echo "the config is another"; exit 1; }
