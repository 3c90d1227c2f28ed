#pragma once
// The keys that families with experts share beside decoder_keys.hpp. Internal to runtime/family.

#include <initializer_list>

#include "runtime/family/decoder_keys.hpp"
#include "runtime/family/sparse_decoder.hpp"

namespace d9d {

// Of those keys the ones named, in that order. A family without num_local_experts has the row num_experts alone; a
// family with both says by read_two_names() how they are read. output_router_logits stands for router_aux_loss_coef, too.
ModelKeys expert_keys(std::initializer_list<std::string_view> names);
// The number of experts from num_experts or num_local_experts; input error where they differ.
std::int64_t read_two_names(const JsonReader& in, const SparseDecoder& model);

}  // namespace d9d
