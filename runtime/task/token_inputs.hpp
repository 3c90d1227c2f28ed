#pragma once
// What the built-in tasks give a model of tokens, whatever they make of its outputs.

#include "runtime/task/task.hpp"

namespace d9d {

// input_ids for the first stage. For all stages, where the batch has them: position_ids, document_starts, token_mask,
// next_token_mask, sequence_length and hidden_states_agg_mask.
ForwardInputs token_inputs(const TensorMap& batch);

}  // namespace d9d
