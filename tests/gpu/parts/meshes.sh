# Meshes beside one rank of the same GPU, after the part jobs. Ranks share it; where there are as many GPUs, NCCL joins them, too.
source tests/gpu/environment.sh
gpus="$(nvidia-smi -L 2>/dev/null | grep -c '^GPU')"
log_of_contexts="$bundle/contexts.log"

# RUN MODEL KEY=VALUE...
mesh() {
  local run="$1" model="$2"
  shift 2
  job "$run" "$model" node.device="$device" trainer.schedule.total_steps=5 "$@" || return 1
  curves same "$runs/${model}_cuda" "$runs/$run"
}

# A process for each rank has memory of its own GPU only.
watched_mesh() {
  local sampler code=0
  (while sleep 1; do nvidia-smi --query-compute-apps=pid,gpu_uuid --format=csv,noheader; done > "$log_of_contexts") &
  sampler=$!
  mesh "$@" || code=1
  kill "$sampler"
  [ -z "$(sort -u "$log_of_contexts" | cut -d, -f1 | uniq -d)" ] || { echo "a process has memory of two GPUs"; code=1; }
  return "$code"
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
    check "$model, $degrees" mesh "${run}_shared" "$model" node.devices=1 "${words[@]}"
    [ "$gpus" -ge "$ranks" ] || continue
    check "$model, $degrees, NCCL" watched_mesh "${run}_nccl" "$model" node.collectives=nccl node.processes=per_device "${words[@]}"
    check "$model, $degrees, NCCL in one process" mesh "${run}_nccl_1" "$model" node.collectives=nccl node.processes=1 "${words[@]}"
  done
}
# Composed actions whose parts are on two compute streams. The small batch of a rehearsal is enough for one rank.
overlap() {
  local ranks=2
  [ "$device" = cuda ] || ranks=1
  check "small_dense, overlapping actions" mesh small_dense_overlap small_dense node.devices=1 \
    mesh.pipeline_parallel="$ranks" trainer.pipelining.schedule=dual_pipe_v trainer.pipelining.overlap=always
}
for model in small_dense small_moe; do
  [ -e "$runs/${model}_cuda/metrics.jsonl" ] || job "${model}_cuda" "$model" node.device="$device" trainer.schedule.total_steps=5
done
if [ "$device" != cuda ]; then
  meshes small_moe "data_parallel_shard=2 expert_parallel=2"
  overlap
  exit 0
fi
meshes small_moe "data_parallel_shard=2 expert_parallel=2" "pipeline_parallel=2 data_parallel_shard=2 expert_parallel=2" &
meshes small_dense data_parallel_replicate=2 data_parallel_shard=2 pipeline_parallel=2 tensor_parallel=2 \
  context_parallel_shard=2 "data_parallel_shard=2 tensor_parallel=2" "pipeline_parallel=2 data_parallel_replicate=2" &
overlap &
wait
exit 0
