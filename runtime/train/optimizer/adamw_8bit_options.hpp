#pragma once
// The options of AdamW with moments of 8 bits, as plain values. The keys are in
// runtime/job/section/optimizer_config.hpp. No torch in this header.

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/train/optimizer/parameter_rules.hpp"

namespace d9d {

// Both moments of a parameter are stored as bytes, in blocks with one scale each
// (kernels/optimizer/block_quantization.hpp). Updates read them into float32. Small parameters, and those that
// `float32_for` names, have float32 moments.
struct AdamW8BitOptions {
  double lr = 0;
  std::array<double, 2> betas = {0.9, 0.999};
  double eps = 1e-8;
  double weight_decay = 0.01;
  std::int64_t block_size = 2048;  // elements per scale; each rank cuts its part of a parameter into blocks
  std::int64_t float32_below = 4096;     // whole parameters with fewer elements have float32 moments
  std::vector<std::string> float32_for;  // patterns as in rules
  bool master_weights = true;
  std::vector<ParameterRule> rules;
};
// Whether the moments of a parameter with this name and global shape are stored as bytes.
bool has_byte_moments(const AdamW8BitOptions& options, const std::string& name,
                      const std::vector<std::int64_t>& shape);

}  // namespace d9d
