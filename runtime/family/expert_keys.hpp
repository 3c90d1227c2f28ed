#pragma once
// The keys that families with experts share beside decoder_keys.hpp.

#include <initializer_list>

#include "runtime/family/decoder_keys.hpp"
#include "runtime/family/sparse_decoder.hpp"

namespace d9d {

// Of those keys the ones named, in that order. A family without num_local_experts has the row num_experts alone; a
// family with both says by read_two_names() or set_local_experts() how they are read. output_router_logits stands for
// router_aux_loss_coef, too.
ModelKeys expert_keys(std::initializer_list<std::string_view> names);
// The number of experts from num_experts or num_local_experts; input error where they differ.
std::int64_t read_two_names(const JsonReader& in, const SparseDecoder& model);
// For keys that write num_local_experts, and at least one.
void set_local_experts(ModelKeys& keys);
// What a family of experts as wide as intermediate_size requires of a section without `from`.
std::vector<std::string> required_with_local_experts(const nlohmann::json& keys);
// Family::drop_replaced for the two names.
void drop_other_name_of_experts(nlohmann::json& base, const nlohmann::json& keys);

}  // namespace d9d
