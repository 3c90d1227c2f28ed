#pragma once
// Between the tensors of a Hugging Face Qwen3 or Qwen3-MoE folder and the parameters of our model. Only the
// experts differ: ours are stacked [E, out, in] with gate and up apart.

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/state/mapper/mapper.hpp"

namespace d9d {

// What decides which tensors there are.
struct Qwen3Tensors {
  std::vector<bool> sparse_layers;  // one entry per decoder layer: experts or a dense feed-forward
  std::int64_t num_experts = 0;
  bool attention_bias = false;
  bool tied_embeddings = false;  // then there is no lm_head.weight
};

enum class ExpertStorage {
  one_by_one,  // mlp.experts.E.gate_proj.weight [I, H], up_proj
               // likewise, down_proj [H, I]; transformers 4 and 5
  fused,       // mlp.experts.gate_up_proj [E, 2 I, H] and mlp.experts.down_proj [E, H, I]; transformers 5
};
// How a folder with these tensor names stores its experts;
// one_by_one when it has none. An input error for both.
ExpertStorage expert_storage_of(const Names& names);

MapperPtr qwen3_from_hugging_face(const Qwen3Tensors& tensors, ExpertStorage storage);
MapperPtr qwen3_to_hugging_face(const Qwen3Tensors& tensors,
                                ExpertStorage storage = ExpertStorage::one_by_one);

}  // namespace d9d
