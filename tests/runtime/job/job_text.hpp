#pragma once
// A small good job, and ways to read a changed one.

#include <string>
#include <vector>

#include "runtime/base/config/parse.hpp"
#include "runtime/base/error.hpp"
#include "runtime/family/qwen3/config.hpp"
#include "runtime/job/job_load.hpp"

namespace d9d::testing_job {

// Lines are part of the tests of error places.
inline const std::string text = R"(mesh:
  pipeline_parallel: 2
  data_parallel_replicate: 2
trainer:
  run: {name: tiny}
  batching: {global_batch_size: 8, microbatch_size: 2}
  schedule: {total_steps: 20}
  pipelining:
    schedule: 1f1b
model_provider:
  name: qwen3_moe
  model:
    hidden_size: 64
    num_hidden_layers: 4
    num_attention_heads: 4
    num_key_value_heads: 2
    head_dim: 16
    intermediate_size: 96
    moe_intermediate_size: 32
    num_experts: 8
    num_experts_per_tok: 2
    vocab_size: 512
data: {source: synthetic, sequence_length: 32, vocab_size: 512}
optimizer: {name: adamw, lr: 3.0e-4}
)";

inline LoadedJob load(const std::vector<std::string>& overrides = {}, const std::string& job = text) {
  return load_job(config::parse(job, "job.yaml"), overrides);
}

inline std::string error_of(const std::vector<std::string>& overrides, const std::string& job = text) {
  try {
    load(overrides, job);
  } catch (const Error& error) {
    return std::string(name_of(error.kind())) + " error " + error.what();
  }
  return "no error";
}

// What load() resolved, which is of this family.
inline Qwen3Config qwen3_of(const LoadedJob& loaded) {
  return dynamic_cast<const Qwen3Config&>(*loaded.model);
}

// The job with `from` replaced by `to`, which must occur.
inline std::string changed(const std::string& from, const std::string& to) {
  std::string job = text;
  const std::size_t at = job.find(from);
  D9D_CHECK(at != std::string::npos, "the job has no {}", from);
  return job.replace(at, from.size(), to);
}

}  // namespace d9d::testing_job
