#pragma once
// Recognises weights that a quantiser has packed by the names of their tensors. No torch.

#include <set>
#include <string>

namespace d9d {

// Names the tool that wrote such tensors, and the first of them: "GPTQ or AWQ
// (model.layers.0.self_attn.q_proj.qweight)". Empty if no tensor has such a name. Weights of 8 bits
// with scales that ModelFiles reads do not count.
std::string quantiser_of(const std::set<std::string>& names);

}  // namespace d9d
