#pragma once
// Tables of rotary position embedding (see RopeOptions), in fp32 whatever the model's dtype.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <utility>

#include "runtime/nn/block/rope_options.hpp"

namespace d9d {

// Radians per position of each pair of head dimensions, fp32 [head_dim / 2], in sequences of `length`
// tokens: one more than the largest position. It matters where depends_on_length().
at::Tensor inverse_frequencies(const RopeOptions& rope, std::int64_t head_dim, std::int64_t length = 0);
bool depends_on_length(const RopeOptions& rope);
// The factor of cos and sin: 1 but for YaRN (section 3.4 of the paper) and LongRoPE (section 3.3).
double rotary_scale(const RopeOptions& rope);

class RotaryTable {
 public:
  RotaryTable(const RopeOptions& rope, std::int64_t head_dim);

  // (cos, sin) for int64 position_ids [B, S], as kernels/attention/rope.hpp takes them: [S, D] where all
  // rows hold the same positions (a view of the table where they are consecutive), else [B, S, D]. On the CPU
  // the table grows to the largest position seen. `length`, int64 []: of the whole sequences, where
  // position_ids hold a part of them; undefined: they hold all. Input error for a negative position. Thread:
  // the owning stage's.
  std::pair<at::Tensor, at::Tensor> at_positions(const at::Tensor& position_ids,
                                                 const at::Tensor& length = {});
  // Input error where a token would turn otherwise with each further token of a sequence of so many.
  void require_one_rotation(std::int64_t tokens) const;
  bool depends_on_length() const { return d9d::depends_on_length(rope_); }

 private:
  void choose_frequencies(std::int64_t length);
  void grow(std::int64_t positions, at::Device device);

  RopeOptions rope_;
  std::int64_t head_dim_;
  std::int64_t stretch_ = 0;  // what the frequencies of long sequences depend on
  at::Tensor frequencies_;
  at::Tensor cos_;  // [P, D]
  at::Tensor sin_;
};

}  // namespace d9d
