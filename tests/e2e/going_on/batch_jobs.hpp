#pragma once
// The jobs whose batch size changes between two starts.

#include <string>

namespace d9d::test {

// What both kinds of job have but for their data.
inline constexpr const char* small_model_yaml = R"(model_provider:
  name: qwen3
  model: {hidden_size: 32, intermediate_size: 48, num_hidden_layers: 2, num_attention_heads: 4, num_key_value_heads: 2,
          head_dim: 8, vocab_size: 61, tie_word_embeddings: false, initializer_range: 0.3}
node: {threads_per_rank: 1, heartbeat_ms: 10000}
)";
inline constexpr const char* infer_yaml = R"(inference:
  run: {name: asked}
  batching: {global_batch_size: 4, microbatch_size: 1}
  determinism: {base_seed: 3}
  checkpointing: {period_steps: 1}
)";

// Weights that stay, so that the loss of a step tells which samples it had. Checkpoints by trainer.checkpointing.
inline std::string train_yaml(const std::string& period_steps) {
  return R"(trainer:
  run: {name: trained}
  batching: {global_batch_size: 4, microbatch_size: 1}
  determinism: {base_seed: 3}
  checkpointing: {period_steps: )" +
         period_steps + R"(}
  logging: {period_steps: 1, tracker: {provider: "null"}}
optimizer: {name: sgd, lr: 1.0}
lr_scheduler:
  name: piecewise
  scheduler: {initial_multiplier: 0.0, phases: [{mode: steps, steps: 1, target_multiplier: 0.0, curve: {type: linear}}]}
)";
}

}  // namespace d9d::test
