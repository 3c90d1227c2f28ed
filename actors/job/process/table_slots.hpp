#pragma once
// How many slots of the tensor table a rank may need at once.

#include <cstddef>
#include <optional>

namespace d9d {

struct TableUse {
  std::size_t microbatches = 1;  // of a step, of all phases; an evaluation batch has no more
  std::size_t stages = 1;        // of the rank
  std::size_t prefetch_steps = 1;
  std::optional<std::size_t> evaluation_ahead{};  // EvaluationOptions::ahead; none: the job evaluates nothing
};

// The sum of what lies in the table at the same time: inputs of training, of an evaluation, transfers, snapshots.
std::size_t table_slots_of_a_rank(const TableUse& use);

}  // namespace d9d
