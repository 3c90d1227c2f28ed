#pragma once
// Between the tensors of a Hugging Face Qwen3 or Qwen3-MoE folder and the parameters of our model. Only the
// experts differ: ours are stacked [E, out, in] with gate and up apart.

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/family/expert_tensors.hpp"

namespace d9d {

// What decides which tensors there are.
struct Qwen3Tensors {
  std::vector<bool> sparse_layers;  // one entry per decoder layer: experts or a dense feed-forward
  std::int64_t num_experts = 0;
  bool attention_bias = false;
  bool tied_embeddings = false;  // then there is no lm_head.weight
};

MapperPtr qwen3_from_hugging_face(const Qwen3Tensors& tensors, ExpertStorage storage);
MapperPtr qwen3_to_hugging_face(const Qwen3Tensors& tensors,
                                ExpertStorage storage = ExpertStorage::one_by_one);

}  // namespace d9d
