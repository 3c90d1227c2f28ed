#pragma once
// Chooses the sizes of a first model from a text, a host and the minutes that its user
// will wait. Arithmetic only.

#include <cstdint>

namespace d9d {

struct HostRoom {
  int cores = 1;
  std::uint64_t memory_bytes = 0;
};

// The vocabulary for a text of so many bytes: from 512 tokens for a page to 32768 for a gigabyte.
std::int64_t vocab_size_for(std::uint64_t text_bytes);

struct ModelSize {
  int layers = 0;
  int width = 0;
  int heads = 0;  // of 32 elements each; of 64 in larger models
  int feed_forward = 0;
  std::int64_t vocab_size = 0;

  std::int64_t parameters() const;  // head and embedding are one matrix
};

struct StartPlan {
  ModelSize model;
  int replicas = 1;
  std::int64_t sequence_length = 0;
  std::int64_t microbatch_size = 0;
  std::int64_t global_batch_size = 0;
  std::int64_t steps = 0;
  std::int64_t period = 0;  // of checkpoints and evaluations
  std::int64_t warmup = 0;  // steps
  double learning_rate = 0;
  double validation = 0;  // share of the documents; 0: none

  std::int64_t step_tokens() const { return sequence_length * global_batch_size; }
};

struct TextAmount {
  std::uint64_t tokens = 0;
  std::int64_t vocab_size = 0;
  bool can_hold_out = true;
};

// Returns the largest of eight shapes that can see three tokens per parameter within `minutes`, that the
// text is long enough for, and whose replicas (one per core) fit into half of the memory.
StartPlan plan_model(const TextAmount& text, const HostRoom& host, double minutes);

// Batches and steps for a model that exists and has `parameters` parameters.
// `positions`: its longest sequence.
StartPlan plan_tuning(std::uint64_t tokens, std::int64_t parameters, std::int64_t positions,
                      bool can_hold_out, const HostRoom& host, double minutes);

// Estimates the minutes that the plan takes on such a host.
double minutes_of(const StartPlan& plan, std::int64_t parameters, const HostRoom& host);

}  // namespace d9d
