#!/usr/bin/env bash
# From nothing to a trained language model: installs what is missing, builds d9d-node, trains a small Qwen3-MoE on the
# King James Bible with four ranks in one process, lets it write, and lists what the run left behind.
# Safe to repeat: nothing is made twice, an interrupted run goes on, a finished one is only shown.
usage="usage: bash examples/quickstart.sh [--fresh] [--smoke] [--device cpu|cuda] [--node FILE] [--output DIR]
  --fresh        remove the earlier run first and train anew
  --smoke        a few steps only: does everything work?
  --device KIND  where it trains: cuda where nvidia-smi shows a GPU with a driver R580 or newer, unless D9D_CUDA=0;
                 else cpu. With cuda CUDA's libraries are installed too (2.3 GB with torch)
  --node FILE    use this d9d-node instead of building build/release/d9d-node
  --output DIR   where the run goes (runs/quickstart; with --smoke runs/quickstart-smoke)"
set -euo pipefail

fresh=false smoke=false device="" node="" output=""
while [ $# -gt 0 ]; do
  case "$1" in
    --fresh) fresh=true ;;
    --smoke) smoke=true ;;
    --device)
      device="${2:?"$usage"}"
      [[ "$device" = cpu || "$device" = cuda ]] || { echo "--device is $device, expected cpu or cuda"; exit 2; }
      shift ;;
    --node) node="$(realpath -- "${2:?"$usage"}")"; shift ;;
    --output) output="$(realpath -m -- "${2:?"$usage"}")"; shift ;;
    -h | --help) echo "$usage"; exit 0 ;;
    *) echo "unknown option $1"; echo "$usage"; exit 2 ;;
  esac >&2
  shift
done
cd "$(dirname "$0")/.."
here=examples/quickstart
if [ -z "$output" ]; then $smoke && output=runs/quickstart-smoke || output=runs/quickstart; fi

say() { printf '\n\033[1m%s\033[0m\n' "$*"; }
stop() { echo "quickstart: $*" >&2; exit 1; }

# "NVIDIA H100 80GB HBM3, 81559 MiB, 580.65.06": the first GPU; empty if there is none.
gpu="$(nvidia-smi --query-gpu=name,memory.total,driver_version --format=csv,noheader 2>/dev/null | head -1 || true)"
release="$(sed -nE 's/.*, ([0-9]+)\.[0-9.]+$/\1/p' <<< "$gpu")"
if [ -z "$release" ]; then
  why="nvidia-smi shows no GPU"
elif [ "$release" -lt 580 ]; then
  why="the driver of ${gpu%%,*} is R$release, CUDA 13.0 needs R580 or newer"
elif [ "${D9D_CUDA:-}" = 0 ]; then
  why="D9D_CUDA=0"
elif [[ "$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader | head -1)" =~ ^[1-7]\. ]]; then
  why="${gpu%%,*} is older than compute capability 8.0"
else
  why=""
fi
if [ "$device" = cuda ] && [ -n "$why" ]; then
  echo "quickstart: --device cuda, but $why" >&2
  exit 2
fi
if [ "$device" = cpu ]; then
  export D9D_CUDA=0  # installs nothing of CUDA
  echo "Device: the CPU, as --device says"
elif [ -n "$why" ]; then
  device=cpu
  echo "Device: the CPU ($why)"
else
  device=cuda
  export D9D_CUDA=1  # installs CUDA's libraries, or fails and says why
  echo "Device: the GPU $gpu (name, memory, driver). With CUDA's libraries 2.3 GB are downloaded where they are missing;"
  echo "        --device cpu or D9D_CUDA=0 refuses."
fi

build() {
  say "1/4  Build"
  bash .ci/deps
  mkdir -p build
  cmake -S . -B build/release -G Ninja ${D9D_TORCH:+"-DD9D_TORCH=$D9D_TORCH"} > build/quickstart-configure.log 2>&1 ||
    { cat build/quickstart-configure.log; stop "cmake could not configure"; }
  cmake --build build/release --target d9d-node -j "$(nproc)"
}
if [ -z "$node" ]; then
  build
  node=build/release/d9d-node
fi

say "2/4  Text"
[ ! -d "$output" ] || ! $fresh || rm -rf -- "$output"
text="$output/data/kjv.txt"
mkdir -p "$output/data"
[ -s "$text" ] || sh $here/make_text.sh "$text"
echo "$text: the King James Bible, $(($(wc -c < "$text") / 1000)) kB, $(grep -c . "$text") lines"

# job.yaml itself is the quickstart. These options change it for a run elsewhere, and for a smoke test.
changes=()
if [ "$output" != runs/quickstart ]; then
  changes+=(--set "output_dir=$output" --set "export_to=$output/export" --set "data.files.0=$text")
fi
if [ "$device" = cuda ]; then changes+=(--set node.device=cuda); fi
if $smoke; then
  changes+=(--set trainer.schedule.total_steps=6 --set trainer.batching.global_batch_size=16
            --set trainer.checkpointing.period_steps=3 --set lr_scheduler.warmup_steps=2)
fi

say "3/4  Train: 2 pipeline stages x 2 replicas"
# The weights are the last file of the export, so they mark a finished run.
if [ -e "$output/export/model.safetensors" ]; then
  echo "This run is finished: a job goes on from its last checkpoint, and there is nothing left to train."
  echo "To train anew: bash examples/quickstart.sh --fresh"
else
  echo "\$ $node $here/job.yaml ${changes[*]-}"
  "$node" $here/job.yaml "${changes[@]}"
fi

figure() { sed -nE "$1"'s/.*"'"$2"'":([-+.0-9e]+).*/\1/p' "$output/metrics.jsonl"; }
first="$(figure 1 loss)" last="$(figure '$' loss)"
awk -v a="$first" -v b="$last" 'BEGIN { exit !(b < a) }' || stop "the loss did not fall: $first, then $last"
printf 'The loss fell from %.2f to %.2f nats a token in %s steps, the last ones at %.0f tokens/s.\n' \
  "$first" "$last" "$(figure '$' step)" "$(figure '$' tokens_per_second)"

say "4/4  What it writes"
length=60
! $smoke || length=8
for prompt in "In the beginning" "And the king said unto" "Blessed are"; do
  "$node" generate "$output/export" --prompt "$prompt" --tokens "$length" |
    fold -s -w 100
  echo
done | tee "$output/samples.txt"
"$node" report "$output" > /dev/null

left() {
  [ -e "$output/$1" ] || stop "$output/$1 is missing"
  printf '  %-22s %s\n' "$1" "$2"
}
say "What the run left in $output"
left metrics.jsonl "loss, learning rate, gradient norm, tokens/s: a line for each step"
left report.html "curves, where the time went, checkpoints, the text above: open it in a browser"
left tensorboard "the same for TensorBoard: tensorboard --logdir $output/tensorboard"
left traces/trace.json.gz "every message and action; open it in https://ui.perfetto.dev"
left checkpoints "$(ls "$output/checkpoints" | tr '\n' ' ')to go on from"
left export "the model as a Hugging Face folder, for transformers too"
cat << END

What to try next
  where a step's time went:         $node trace $output/traces/trace.json.gz
  the job, resolved and explained:  $node check $here/job.yaml
  more text:                        $node generate $output/export --prompt "And God" --tokens 100 --seed 7
  three times as long:              $node $here/job.yaml --set trainer.run.name=longer \\
                                      --set trainer.schedule.total_steps=2100 --set export_to=runs/longer/export
  two hosts, a task and a model of your own: examples/README.md
END
