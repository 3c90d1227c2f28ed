#!/usr/bin/env bash
# Fine-tunes the quickstart's model with low-rank adapters on another text, the licences that every Debian has. Shows its
# texts and its loss before and after. Safe to repeat: a finished run is only shown.
usage="usage: bash examples/lora.sh [--fresh] [--smoke] [--node FILE] [--from DIR] [--output DIR]
  --fresh        remove the earlier run first and train anew
  --smoke        a few steps only: does everything work?
  --node FILE    use this d9d-node instead of build/release/d9d-node
  --from DIR     the model to start from (runs/quickstart/export, made by the quickstart when it is not there)
  --output DIR   where the run goes (runs/lora; with --smoke runs/lora-smoke)"
set -euo pipefail

fresh=false smoke=false node="" base="" output=""
while [ $# -gt 0 ]; do
  case "$1" in
    --fresh) fresh=true ;;
    --smoke) smoke=true ;;
    --node) node="$(realpath -- "${2:?"$usage"}")"; shift ;;
    --from) base="$(realpath -- "${2:?"$usage"}")"; shift ;;
    --output) output="$(realpath -m -- "${2:?"$usage"}")"; shift ;;
    -h | --help) echo "$usage"; exit 0 ;;
    *) echo "unknown option $1"; echo "$usage"; exit 2 ;;
  esac >&2
  shift
done
cd "$(dirname "$0")/.."
here=examples/lora
if [ -z "$output" ]; then $smoke && output=runs/lora-smoke || output=runs/lora; fi

say() { printf '\n\033[1m%s\033[0m\n' "$*"; }
stop() { echo "lora: $*" >&2; exit 1; }

say "1/4  The model of the quickstart"
if [ -z "$base" ]; then
  base=runs/quickstart/export
  [ -e $base/model.safetensors ] || bash examples/quickstart.sh ${node:+--node "$node"}
fi
[ -e "$base/model.safetensors" ] || stop "$base has no model.safetensors"
node="${node:-build/release/d9d-node}"
[ -x "$node" ] || stop "$node is not there: build it (bash examples/quickstart.sh does), or give --node"
echo "$base: $(($(wc -c < "$base/model.safetensors") / 1000)) kB of weights"

say "2/4  Text"
[ ! -d "$output" ] || ! $fresh || rm -rf -- "$output"
mkdir -p "$output/data"
text="$output/data/licences.txt" held_out="$output/data/held_out.txt"
[ -s "$held_out" ] || sh $here/make_text.sh "$text" "$held_out"
echo "$text: $(($(wc -c < "$text") / 1000)) kB of licences; two others are held out"

# job.yaml itself is the example. These options change it for a run elsewhere, and for a smoke test.
changes=(--set "output_dir=$output" --set "export_to=$output/export" --set "export_adapter_to=$output/adapter"
         --set "data.files.0=$text" --set "data.tokenizer=$base/tokenizer.json" --set "model_provider.from=$base"
         --set "trainer.model_stage_factory.source_checkpoint=$base")
if $smoke; then
  changes+=(--set trainer.schedule.total_steps=8 --set trainer.checkpointing.period_steps=4
            --set lr_scheduler.warmup_steps=2)
fi

say "3/4  Train the adapters"
# The merged weights are written before the adapter, so that the adapter marks a finished run.
if [ -e "$output/adapter/adapter_model.safetensors" ]; then
  echo "This run is finished. To train anew: bash examples/lora.sh --fresh"
else
  "$node" $here/job.yaml "${changes[@]}"
fi

# The loss of a model on the held-out text: the loss of the first step, before anything has changed.
held_out_loss() {
  local folder="$output/data/loss"
  rm -rf -- "$folder"
  "$node" $here/job.yaml "${changes[@]}" --set "output_dir=$folder" --set export_to=null --set export_adapter_to=null \
    --set "data.files.0=$held_out" --set "trainer.model_stage_factory.source_checkpoint=$1" \
    --set trainer.checkpointing.period_steps=disable --set trainer.logging.period_steps=1 \
    --set trainer.schedule.total_steps=1 --set trainer.batching.global_batch_size=32 \
    --set model_provider.peft.params.dropout=0 --set lr_scheduler.warmup_steps=1 \
    > "$output/data/loss.log" 2>&1 || { cat "$output/data/loss.log" >&2; stop "the held-out loss could not be computed"; }
  sed -nE 's/.*"loss":([-+.0-9e]+).*/\1/p' "$folder/metrics.jsonl" | head -n 1
}

say "4/4  Before and after"
before="$(held_out_loss "$base")" after="$(held_out_loss "$output/export")"
awk -v a="$before" -v b="$after" 'BEGIN { exit !(b < a) }' || stop "the held-out loss did not fall: $before, then $after"
printf 'Held-out licences: %.2f nats a token before, %.2f after.\n' "$before" "$after"
length=60
! $smoke || length=8
for model in "$base" "$output/export"; do
  printf '\n%s\n' "$model"
  for prompt in "You may" "This License"; do
    "$node" generate "$model" --prompt "$prompt" --tokens "$length" | fold -s -w 100
  done
done

left() {
  [ -e "$output/$1" ] || stop "$output/$1 is missing"
  printf '  %-10s %8d kB  %s\n' "$1" "$(du -skL "$output/$1" | cut -f 1)" "$2"
}
say "What the run left in $output"
left adapter "the adapters alone, for peft: PeftModel.from_pretrained(model, \"$output/adapter\")"
left export "the model with the adapters merged into its weights"
left checkpoints "adapters and their moments, to go on from; the frozen weights are in $base"
