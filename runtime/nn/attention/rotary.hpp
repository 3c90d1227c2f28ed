#pragma once
// Tables of rotary position embedding (see RopeOptions), in fp32 whatever the model's dtype.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <utility>

#include "runtime/nn/block/rope_options.hpp"

namespace d9d {

// Radians per position of each pair of head dimensions, fp32 [head_dim / 2]. `length`: of the sequences, one
// more than the largest position; it is used only when depends_on_length().
at::Tensor inverse_frequencies(const RopeOptions& rope, std::int64_t head_dim, std::int64_t length = 0);
bool depends_on_length(const RopeOptions& rope);
// The factor of cos and sin: 1, except for YaRN (section 3.4 of the paper) and LongRoPE (section 3.3).
double rotary_scale(const RopeOptions& rope);

class RotaryTable {
 public:
  RotaryTable(const RopeOptions& rope, std::int64_t head_dim);

  // Returns (cos, sin) for int64 position_ids [B, S], in the form of kernels/attention/rope.hpp: [S, D] when all rows
  // hold the same positions (a view of the table when these are consecutive), else [B, S, D]. On the CPU
  // the table grows to the largest position seen. `length`, int64 []: of the whole sequences, when
  // position_ids hold a part of them; undefined when they hold all. As int64 [1, S] on the CPU it has the length of
  // each token's sequence: tokens of several sequences lie in one row. Input error for a negative position.
  // Call it on the owning stage's thread.
  std::pair<at::Tensor, at::Tensor> at_positions(const at::Tensor& position_ids,
                                                 const at::Tensor& length = {});
  // Input error when the rotation of a token would change with each further token of a sequence of `tokens`:
  // such sequences cannot be generated with a cache.
  void require_one_rotation(std::int64_t tokens) const;
  bool depends_on_length() const { return d9d::depends_on_length(rope_); }

 private:
  void choose_frequencies(std::int64_t length);
  void grow(std::int64_t positions, at::Device device);
  std::pair<at::Tensor, at::Tensor> at_lengths(const at::Tensor& ids,
                                               const std::map<std::int64_t, std::int64_t>& length_of_stretch,
                                               const at::Tensor& lengths) const;

  RopeOptions rope_;
  std::int64_t head_dim_;
  std::int64_t stretch_ = 0;  // stretch_of() the length for which frequencies_ were computed
  at::Tensor frequencies_;
  at::Tensor cos_;  // [P, D]
  at::Tensor sin_;
};

}  // namespace d9d
