# Each op beside torch's and the GPU's ceilings; tokens per second of jobs, and where the time of two steps went.
source tests/gpu/environment.sh
source tests/gpu/shapes.sh
if [ "$device" = cuda ]; then
  check ops "$bundle/bin/gpu_bench"
  cat "$logs/speed.ops.log"
fi

# SHAPE MICROBATCH: 4 samples of 4096 tokens a step, MICROBATCH of them at once; 10 steps whose speed counts, then two that
# are profiled.
measure() {
  local name="${1}_at_once_$2"
  job "$name" dense_06b node.device="$device" model_provider.name="$(family_of "$1")" "model_provider.model={${!1}}" \
    data.sequence_length=4096 trainer.batching.global_batch_size=4 trainer.batching.microbatch_size="$2" \
    trainer.schedule.total_steps=14 trainer.logging.peak_flops=989e12 \
    trainer.profiling="{period_steps: 14, active_steps: 2}" || return 1
  "$bundle/bin/d9d-node" trace "$runs/$name/traces/step_14.trace.json.gz" --top 30 > "$logs/$name.trace.txt" || return 1
  cp "$runs/$name/traces/step_14.trace.json.gz" "$logs/$name.step.trace.json.gz"
  cp "$runs/$name/traces/trace.json.gz" "$logs/$name.trace.json.gz"
  curves speed "$runs/$name" 3 11
}
for shape in ${D9D_GPU_SHAPES:-dense_17b dense_8b moe_3b}; do
  check "$shape, 1 sample at once" measure "$shape" 1
  [ "$device" = cuda ] && [ "$shape" != dense_8b ] && check "$shape, 4 samples at once" measure "$shape" 4
  cut -c1-160 "$logs/${shape}_at_once_1.trace.txt" | sed '/^slowest edges/,$d'
done
exit 0
