# Each op beside torch's and the GPU's ceilings; tokens per second of jobs, and where the time of two steps went.
source tests/gpu/environment.sh
check ops .gpu/bin/gpu_bench
cat "$logs/speed.ops.log"

# NAME JOB MODEL KEY=VALUE...: 10 steps whose speed counts, then two that are profiled.
measure() {
  local name="$1" file="$2" model="$3"
  shift 3
  job "$name" "$file" node.device=cuda data.sequence_length=4096 trainer.batching.global_batch_size=4 \
    trainer.schedule.total_steps=14 trainer.logging.peak_flops=989e12 \
    trainer.profiling="{period_steps: 14, warmup_steps: 0, active_steps: 2}" "model_provider.model={$model}" "$@" || return 1
  curves speed ".gpu/runs/$name" 3 11 || return 1
  .gpu/bin/d9d-node trace .gpu/runs/"$name"/traces/step_14.trace.json.gz --top 30 > "$logs/$name.trace.txt"
  cp .gpu/runs/"$name"/traces/step_14.trace.json.gz "$logs/$name.trace.json.gz"
}
source tests/gpu/shapes.sh
check dense_17b measure dense_17b dense_06b "$dense_17b"
check dense_8b measure dense_8b dense_06b "$dense_8b"
check moe_3b measure moe_3b dense_06b "$moe_3b" model_provider.name=qwen3_moe
cat "$logs"/{dense_17b,moe_3b}.trace.txt
exit 0
