#pragma once
// What a parameter is for, as far as an optimizer asks: Muon leaves both ends of a model to AdamW. No torch.

#include <cstdint>

namespace d9d {

enum class ParameterRole : std::uint8_t {
  unsaid,     // the model does not say: one whose name matches `*embed*` or `*head*` counts as an end
  inside,     // neither of the following
  embedding,  // rows that ids choose
  output,     // makes logits, scores or vectors of the last hidden states
};

}  // namespace d9d
