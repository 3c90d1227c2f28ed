# Jobs on the GPU beside the CPU: the same curves in float32, close ones in bfloat16; the same bits twice; and what runs beside
# a step changes no number.
source tests/gpu/environment.sh

pair() {
  local name="$1" model="$2"
  shift 2
  job "${name}_cpu" "$model" node.device=cpu trainer.schedule.total_steps=5 "$@" || return 1
  job "${name}_cuda" "$model" node.device="$device" trainer.schedule.total_steps=5 "$@" || return 1
}
same_pair() { pair "$@" && curves same "$runs/${1}_cpu" "$runs/${1}_cuda"; }
close_pair() { pair "$@" && curves close "$runs/${1}_cpu" "$runs/${1}_cuda"; }
check "small_dense as on the CPU" same_pair small_dense small_dense &
check "small_moe as on the CPU" same_pair small_moe small_moe &
check "small_dense in bfloat16" close_pair small_dense_bf16 small_dense model_provider.dtype=bfloat16 &
check "small_moe in bfloat16" close_pair small_moe_bf16 small_moe model_provider.dtype=bfloat16 &

# Every op of a family in a step that refuses those of torch that have no deterministic way.
same_family() {
  local family="$1" folder="$2" name place small=()  # the folder says which sizes
  for place in cpu "$device"; do
    name="${family}_$place"
    job "$name" small_dense node.device="$place" trainer.determinism.strict=true trainer.schedule.total_steps=3 \
      model_provider="{name: $family, from: $PWD/tests/golden/$folder}" data.vocab_size=40 data.sequence_length=16 \
      task="${3:-causal_lm}" || return 1
  done
  curves same "$runs/${family}_cpu" "$runs/${family}_$device"
}
check "qwen3_next, strictly as on the CPU" same_family qwen3_next qwen3_next/mixed &
if [ "$device" = cuda ]; then
  check "gemma3_text, strictly as on the CPU" same_family gemma3_text gemma3_text/capped &
  check "deepseek_v3, strictly as on the CPU" same_family deepseek_v3 latent_families/deepseek_v3 &
  check "gpt_oss, strictly as on the CPU" same_family gpt_oss sparse_families/gpt_oss &
  check "qwen2_moe, strictly as on the CPU" same_family qwen2_moe sparse_families/qwen2_moe &
  check "modernbert, strictly as on the CPU" same_family modernbert modernbert/modernbert "{name: masked_lm, mask_token_id: 1}" &
fi

strict() {
  local run
  for run in first second; do
    job "strict_$run" dense_06b node.device="$device" trainer.determinism.strict=true trainer.schedule.total_steps=20 \
      data.sequence_length=512 "model_provider.model={hidden_size: 1024, intermediate_size: 3072, num_hidden_layers: 4, num_attention_heads: 16, num_key_value_heads: 8, head_dim: 128, vocab_size: 32768, max_position_embeddings: 4096}" \
      data.vocab_size=32768 || return 1
  done
  curves equal $runs/strict_first $runs/strict_second
}
check "the same bits, twice" strict &
wait

# Copies of checkpoints and of offloaded layers, and CUPTI.
beside() {
  job beside small_dense node.device="$device" trainer.schedule.total_steps=5 model_provider.offload_layers=1 \
    trainer.checkpointing.period_steps=2 trainer.profiling="{period_steps: 3, active_steps: 2}" || return 1
  curves same $runs/small_dense_cuda $runs/beside || return 1
  [ "$device" = cuda ] || return 0
  "$bundle/bin/d9d-node" trace "$runs/beside/traces/step_3.trace.json.gz" --json > "$bundle/beside.json" || return 1
  "$python" -c 'import json, sys; sys.exit(json.load(open(sys.argv[1]))["kernels"]["busy_ns"] <= 0)' "$bundle/beside.json" ||
    { echo "the trace of a profiled step has no kernels"; return 1; }
}
check "checkpoints, offloading and profiling change no number" beside
exit 0
