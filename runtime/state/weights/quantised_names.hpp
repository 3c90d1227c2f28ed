#pragma once
// Weights that a quantiser has packed, known by the names of their tensors. No torch.

#include <set>
#include <string>

namespace d9d {

// "GPTQ or AWQ (model.layers.0.self_attn.q_proj.qweight)": who wrote such tensors, and the first of them. Empty
// where none is so named. Weights of 8 bits with scales that ModelFiles reads are none of these.
std::string quantiser_of(const std::set<std::string>& names);

}  // namespace d9d
