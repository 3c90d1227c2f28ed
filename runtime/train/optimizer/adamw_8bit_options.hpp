#pragma once
// The options of AdamW with moments of 8 bits, as plain values; its keys stand in
// runtime/job/section/optimizer_config.hpp. No torch in this header.

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/train/optimizer/parameter_rules.hpp"

namespace d9d {

// Both moments of a parameter are bytes in blocks with a scale each (kernels/optimizer/block_quantization.hpp);
// updates are computed in float32 from what they stand for. Small parameters and those that
// `float32_for` names keep float32 moments.
struct AdamW8BitOptions {
  double lr = 0;
  std::array<double, 2> betas = {0.9, 0.999};
  double eps = 1e-8;
  double weight_decay = 0.01;
  std::int64_t block_size = 2048;        // elements of a scale; blocks are of a rank's part of a parameter
  std::int64_t float32_below = 4096;     // elements of a whole parameter
  std::vector<std::string> float32_for;  // patterns as in rules
  bool master_weights = true;
  std::vector<ParameterRule> rules;
};
// Whether the moments of a parameter of this name and global shape are bytes.
bool has_byte_moments(const AdamW8BitOptions& options, const std::string& name,
                      const std::vector<std::int64_t>& shape);

}  // namespace d9d
