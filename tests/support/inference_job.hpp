#pragma once
// A job that infers with the mixture in the folder `model`.

#include <string>

namespace d9d::test {

// Over `data`; `rest` has further sections.
inline std::string inference_yaml(const std::string& data, const std::string& rest = "") {
  return R"(inference:
  run: {name: inferred}
  batching: {global_batch_size: 8, microbatch_size: 2}
  model_stage_factory: {source_checkpoint: model}
  checkpointing: {period_steps: 2}
model_provider: {name: qwen3_moe, from: model}
node: {threads_per_rank: 1, heartbeat_ms: 10000}
data: )" + data +
         "\n" + rest;
}

}  // namespace d9d::test
