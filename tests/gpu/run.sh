#!/usr/bin/env bash
# On a host with a GPU, after pack.sh: everything that needs one, within ten minutes each. A test that would be skipped fails.
#   bash tests/gpu/run.sh correctness     all tests; jobs on the GPU beside the CPU, of one rank and of 2 and 4 that share it (or
#                                         have one each, by NCCL)
#   bash tests/gpu/run.sh sanitizers      memcheck, racecheck and initcheck of the small tests
#   bash tests/gpu/run.sh speed           each op beside torch's and the GPU's ceilings; a job's tokens per second
#   PYTHON                                a Python that has torch 2.11.0+cu130 (python3)
set -euo pipefail
cd "$(dirname "$0")/../.."
what="${1:-}"
[[ "$what" =~ ^(correctness|sanitizers|speed)$ ]] || { echo "usage: bash tests/gpu/run.sh correctness|sanitizers|speed" >&2; exit 2; }
stop() { echo "gpu: $*" >&2; exit 1; }
[ -x .gpu/bin/test_cuda ] || stop ".gpu is missing: bash tests/gpu/pack.sh where d9d is built"

python="${PYTHON:-python3}"
site="$("$python" -c 'import os, torch; print(os.path.dirname(os.path.dirname(torch.__file__)))')" ||
  stop "no torch: set PYTHON to one that has it"
LD_LIBRARY_PATH="$PWD/.gpu/lib:$site/torch/lib:$(find "$site"/nvidia/*/lib -maxdepth 0 | tr '\n' ':')${LD_LIBRARY_PATH:-}"
export LD_LIBRARY_PATH D9D_REQUIRE_GPU=1 D9D_CUDA_PLUGIN="$PWD/.gpu/lib/libd9d_cuda.so"

nvidia-smi -L || stop "no GPU"
nvidia-smi --query-gpu=driver_version,memory.total --format=csv,noheader
.gpu/bin/d9d-node --version

# NAME JOB KEY=VALUE...: a run in .gpu/runs/NAME, begun anew.
job() {
  local name="$1" words=("$PWD/tests/bench/jobs/$2.yaml" --fresh) word
  shift 2
  for word in trainer.run.name="$name" trainer.logging.period_steps=1 trainer.checkpointing.period_steps=disable "$@"; do
    words+=(--set "$word")
  done
  (cd .gpu && timeout 300 bin/d9d-node "${words[@]}" > "$name.log" 2>&1) || { tail -20 ".gpu/$name.log"; stop "job $name failed"; }
}

# LAYERS SHAPE: Qwen3's, with its vocabulary.
model_of() {
  echo "model_provider.model={num_hidden_layers: $1, tie_word_embeddings: true, $2, num_attention_heads: 16, num_key_value_heads: 8," \
    "head_dim: 128, vocab_size: 151936, max_position_embeddings: 4096}"
}

if [ "$what" = speed ]; then
  .gpu/bin/gpu_bench | tee .gpu/gpu_bench.log
  for size in "06b hidden_size: 1024, intermediate_size: 3072" "17b hidden_size: 2048, intermediate_size: 6144"; do
    job "dense_${size%% *}" dense_06b node.device=cuda data.sequence_length=4096 trainer.batching.global_batch_size=4 \
      trainer.gradient_manager.grad_dtype=float32 trainer.schedule.total_steps=12 \
      "$(model_of 28 "${size#* }")"
    "$python" tests/gpu/curves.py speed ".gpu/runs/dense_${size%% *}"
  done
  exit
fi

if [ "$what" = sanitizers ]; then
  sanitizer="$(command -v compute-sanitizer || ls /usr/local/cuda/bin/compute-sanitizer 2>/dev/null)" ||
    stop "compute-sanitizer is missing, so memory is not checked"
  for tool in memcheck racecheck initcheck; do
    echo "== $tool"
    # Races and memory that nobody wrote are asked of our kernels only: those of libraries have tricks of their own. What
    # a library's kernel wrote counts as written only where that one is watched, too.
    ours=(--error-exitcode 9)
    [ "$tool" != racecheck ] || ours+=(--kernel-name kns=d9d)
    [ "$tool" != initcheck ] || ours=()
    code=0
    timeout 180 "$sanitizer" --tool "$tool" "${ours[@]}" --target-processes all .gpu/bin/test_cuda \
      --gtest_brief=1 --gtest_filter='Cuda*.*Small*' > ".gpu/$tool.log" 2>&1 || code=$?
    [ "$code" != 124 ] || stop "$tool had not ended after 180 s: .gpu/$tool.log"
    [ "$code" = 0 ] || { tail -40 ".gpu/$tool.log"; stop "$tool found something: .gpu/$tool.log"; }
    if [ "$tool" = initcheck ] && grep -A 3 Uninitialized .gpu/initcheck.log | grep -m 3 'd9d::'; then
      stop "initcheck found something: .gpu/initcheck.log"
    fi
  done
  echo "sanitizers: the small tests are clean"
  exit
fi

.gpu/bin/test_cuda --gtest_brief=1 | tee .gpu/test_cuda.log
! grep -q SKIPPED .gpu/test_cuda.log || stop "tests were skipped"
for model in small_dense small_moe; do
  for device in cpu cuda; do
    job "${model}_$device" "$model" node.device="$device" trainer.schedule.total_steps=5
  done
  "$python" tests/gpu/curves.py same ".gpu/runs/${model}_cpu" ".gpu/runs/${model}_cuda"
done

# The same texts as on the CPU, by caches of keys, of windows, of latent attention and of gated delta nets.
for model in qwen3/moe gemma3_text/published latent_families/deepseek_v3 qwen3_next/mixed; do
  for device in cpu cuda; do
    .gpu/bin/d9d-node generate "tests/golden/$model" --tokenizer tests/golden/tokenizer/qwen.json --prompt "A+B" \
      --prompt "(X-Y)" --tokens 16 --temperature 0 --device "$device" --out ".gpu/texts_$device.jsonl"
  done
  cmp .gpu/texts_cpu.jsonl .gpu/texts_cuda.jsonl || stop "$model makes other texts on the GPU"
done

# The same bits, twice.
for run in first second; do
  job "strict_$run" dense_06b node.device=cuda trainer.determinism.strict=true trainer.schedule.total_steps=20 \
    data.sequence_length=512 "$(model_of 4 "hidden_size: 1024, intermediate_size: 3072")"
done
"$python" tests/gpu/curves.py equal .gpu/runs/strict_first .gpu/runs/strict_second

# What runs beside a step: copies of checkpoints and of offloaded layers, and CUPTI, change no number.
job beside small_dense node.device=cuda trainer.schedule.total_steps=5 model_provider.offload_layers=1 \
  trainer.checkpointing.period_steps=2 trainer.profiling="{period_steps: 3, warmup_steps: 0, active_steps: 2}"
"$python" tests/gpu/curves.py same .gpu/runs/small_dense_cuda .gpu/runs/beside
.gpu/bin/d9d-node trace .gpu/runs/beside/traces/step_3.trace.json.gz --json > .gpu/beside.json
"$python" -c 'import json, sys; sys.exit(json.load(open(sys.argv[1]))["kernels"]["busy_ns"] <= 0)' .gpu/beside.json ||
  stop "the trace of a profiled step has no kernels"

# Meshes beside one rank of the same GPU. Ranks share it; where there are as many GPUs, NCCL joins them as well.
gpus="$(nvidia-smi -L | grep -c '^GPU')"
sampler=
trap '[ -z "$sampler" ] || kill "$sampler"' EXIT
sample_contexts() {
  while sleep 1; do nvidia-smi --query-compute-apps=pid,gpu_uuid --format=csv,noheader; done > .gpu/contexts.log
}
meshes() {
  local model="$1" number=0 degrees words word ranks run
  shift
  for degrees in "$@"; do
    number=$((number + 1)) words=() ranks=1
    for word in $degrees; do
      words+=("mesh.$word")
      [[ "$word" = expert_parallel=* ]] || ranks=$((ranks * ${word#*=}))
    done
    run="${model}_mesh$number"
    echo "== $run: $degrees"
    job "${run}_shared" "$model" node.device=cuda node.devices=1 trainer.schedule.total_steps=5 "${words[@]}"
    "$python" tests/gpu/curves.py same ".gpu/runs/${model}_cuda" ".gpu/runs/${run}_shared"
    [ "$gpus" -ge "$ranks" ] || continue
    # A process for each rank, which has memory of its own GPU only, and one for all.
    sample_contexts &
    sampler=$!
    for processes in per_device 1; do
      job "${run}_nccl_$processes" "$model" node.device=cuda node.collectives=nccl node.processes="$processes" \
        trainer.schedule.total_steps=5 "${words[@]}"
      "$python" tests/gpu/curves.py same ".gpu/runs/${model}_cuda" ".gpu/runs/${run}_nccl_$processes"
      [ -z "$sampler" ] || kill "$sampler"
      sampler=
      [ -z "$(sort -u .gpu/contexts.log | cut -d, -f1 | uniq -d)" ] ||
        stop "a process has memory of two GPUs: .gpu/contexts.log"
    done
  done
}
meshes small_dense data_parallel_replicate=2 data_parallel_shard=2 pipeline_parallel=2 tensor_parallel=2 \
  context_parallel_shard=2 "data_parallel_shard=2 tensor_parallel=2" "pipeline_parallel=2 data_parallel_replicate=2"
meshes small_moe "data_parallel_shard=2 expert_parallel=2" "pipeline_parallel=2 data_parallel_shard=2 expert_parallel=2"

echo "correctness: all tests ran, none was skipped, jobs learn as on the CPU and on any mesh"
