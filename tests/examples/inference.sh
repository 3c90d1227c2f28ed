#!/usr/bin/env bash
# examples/inference as a user runs it, with a model of the quickstart.
#   inference.sh D9D_NODE QUICKSTART_FOLDER OUTPUT_FOLDER
set -euo pipefail
node="$1" quickstart="$2" output="$3"
infer() {
  local run="$1"
  shift
  rm -rf -- "${output:?}/$run"
  "$node" "examples/inference/$run.yaml" --set "output_dir=$output/$run" \
    --set "inference.model_stage_factory.source_checkpoint=$quickstart/export" \
    --set "model_provider.from=$quickstart/export" "$@"
}
lines() { cat "$output/$1"/results/*.jsonl | wc -l; }

infer losses --set "data.files.0=$quickstart/data/kjv.txt" --set inference.schedule.total_steps=4
[ "$(lines losses)" = 128 ] || { echo "expected a loss for each of 4 x 32 samples, got $(lines losses)"; exit 1; }
grep -q '"loss":[0-9]' "$output"/losses/results/*.jsonl

infer texts
[ "$(lines texts)" = "$(wc -l < examples/inference/prompts.txt)" ] || { echo "not a text for each prompt"; exit 1; }
grep -q '"text":"' "$output"/texts/results/*.jsonl || { cat "$output"/texts/results/*.jsonl; exit 1; }
