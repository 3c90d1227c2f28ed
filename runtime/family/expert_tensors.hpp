#pragma once
// Between the experts of a Hugging Face folder and ours: parameters gate_proj, up_proj [E, I, H] and
// down_proj [E, H, I], each the stack of all experts; transposed ones have gate_up_proj [E, 2 I, H], down_proj and the
// biases of both. Internal to runtime/family.

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/state/mapper/mapper.hpp"

namespace d9d {

enum class ExpertStorage {
  one_by_one,  // experts.E.gate_proj.weight [I, H], up_proj likewise, down_proj [H, I]; transformers 4 and 5
  fused,       // experts.gate_up_proj [E, 2 I, H] and experts.down_proj [E, H, I]; transformers 5
  transposed,  // experts.gate_up_proj [E, H, 2 I] with gate and up in turns, experts.down_proj [E, I, H],
               // experts.gate_up_proj_bias [E, 2 I] and experts.down_proj_bias [E, H]; gpt_oss alone
  packed,      // the same as experts.gate_up_proj_blocks [E, 2 I, H] and experts.down_proj_blocks [E, H, I]:
               // weights of 4 bits (state/model/model_files.hpp)
};
// How a folder with these tensor names stores its experts, of the first two ways;
// one_by_one when it has none. An input error for both.
ExpertStorage expert_storage_of(const Names& names);

// The experts of one layer.
struct ExpertTensors {
  std::string stored;  // prefix of their names in the folder: "model.layers.N.mlp.experts."
  std::string ours;    // the same of the parameters
  std::int64_t num_experts = 0;
  // What a projection is called where experts are stored one by one.
  std::string gate = "gate_proj", up = "up_proj", down = "down_proj";
};
void add_experts_from(std::vector<MapperPtr>& mappers, const ExpertTensors& experts, ExpertStorage storage);
void add_experts_to(std::vector<MapperPtr>& mappers, const ExpertTensors& experts, ExpertStorage storage);

}  // namespace d9d
