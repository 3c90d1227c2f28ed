#pragma once
// The role of a parameter, for optimizers: Muon leaves the two ends of a model, embedding and output, and vectors to
// AdamW. No torch in this header.

#include <cstdint>

namespace d9d {

enum class ParameterRole : std::uint8_t {
  unsaid,     // unknown: a name that matches `*embed*` or `*head*` counts as an end of the model
  inside,     // neither embedding nor output
  embedding,  // a table of rows, indexed by ids
  output,     // turns the last hidden states into logits, scores or vectors
  vectors,    // not a matrix, but a vector for each expert
};

}  // namespace d9d
