# Sourced by run.sh and by its parts: where the programs are, and what a check is.
#   D9D_GPU_BUNDLE    the folder that pack.sh makes (.gpu)
#   D9D_GPU_DEVICE    cuda; any other is a rehearsal on a host without a GPU: small shapes, nothing that asks the driver
bundle="${D9D_GPU_BUNDLE:-.gpu}" device="${D9D_GPU_DEVICE:-cuda}"
out="${D9D_GPU_OUT:-$bundle/out}" logs="$bundle/logs" table="$bundle/logs/table.txt" runs="$bundle/runs"
bundle_path="$(cd "$bundle" 2>/dev/null && pwd)"
python="${PYTHON:-python3}"
site="$("$python" -c 'import importlib.util, os; print(os.path.dirname(os.path.dirname(importlib.util.find_spec("torch").origin)))' 2>/dev/null)"
# Wheels have CUDA's libraries beside torch; elsewhere a toolkit has them.
LD_LIBRARY_PATH="$bundle_path/lib:$site/torch/lib:$(find "$site"/nvidia/*/lib -maxdepth 0 2>/dev/null | tr '\n' ':')/usr/local/cuda/lib64:${LD_LIBRARY_PATH:-}"
export LD_LIBRARY_PATH
[ "$device" != cuda ] || export D9D_REQUIRE_GPU=1 D9D_CUDA_PLUGIN="$bundle_path/lib/libd9d_cuda.so"

# PART STATE TEXT: a line of the table.
note() { printf '%-10s %s  %s\n' "$1" "$2" "$3" | tee -a "$table"; }

# NAME COMMAND...: runs it and notes how it ended. Its output goes to a log of its own, the end of which is shown where it
# is red.
part="$(basename "$0" .sh)"
check() {
  local name="$1" begin=$SECONDS log
  shift
  log="$logs/$part.${name//[^A-Za-z0-9_.-]/_}.log"
  if "$@" > "$log" 2>&1; then
    note "$part" PASS "$name ($((SECONDS - begin)) s)$(sed -n 's/^RESULT/:/p' "$log" | tail -1)"
  else
    tail -30 "$log"
    note "$part" RED "$name ($((SECONDS - begin)) s): $(grep -v '^$' "$log" | tail -1 | cut -c1-200)"
    return 1
  fi
}

# What a rehearsal says in addition in every job.
small=()
[ "$device" = cuda ] || small=(data.sequence_length=32 trainer.batching.global_batch_size=2 data.vocab_size=512
  model_provider.model.{num_hidden_layers=2,hidden_size=64,intermediate_size=128,vocab_size=512})

# NAME JOB KEY=VALUE...: a run in $runs/NAME, begun anew.
job() {
  local name="$1" words=("$PWD/tests/bench/jobs/$2.yaml" --fresh) word
  shift 2
  for word in trainer.run.name="$name" trainer.logging.period_steps=1 trainer.checkpointing.period_steps=disable \
    "$@" "${small[@]}"; do
    words+=(--set "$word")
  done
  (cd "$bundle" && timeout 120 bin/d9d-node "${words[@]}")
}

curves() { "$python" tests/gpu/curves.py "$@"; }
