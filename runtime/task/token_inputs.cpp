#include "runtime/task/token_inputs.hpp"

namespace d9d {

ForwardInputs token_inputs(const TensorMap& batch) {
  ForwardInputs made;
  made.inputs["input_ids"] = tensor_at(batch, "input_ids", "the batch");
  for (const char* name : {"position_ids", "document_starts", "token_mask", "next_token_mask",
                           "sequence_length", "hidden_states_agg_mask"}) {
    const auto given = batch.find(name);
    if (given != batch.end()) made.shared.insert(*given);
  }
  return made;
}

}  // namespace d9d
