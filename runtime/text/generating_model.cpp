#include "runtime/text/generating_model.hpp"

#include <ATen/ops/full.h>

#include "runtime/base/error.hpp"
#include "runtime/device/host_numbers.hpp"

namespace d9d {

TensorMap GeneratingModel::forward(const TensorMap& inputs, const TensorMap& shared) {
  const at::Tensor& ids = tensor_at(inputs, "input_ids", "stage inputs");
  const auto samples = host_integers(tensor_at(shared, "sample_numbers", "the task's shared inputs"));
  const auto lengths = host_integers(tensor_at(shared, "prompt_lengths", "the task's shared inputs"));
  if (!generator_) {
    options_.sequences = ids.size(0);
    generator_.emplace(*model_, options_, ids.size(1) + options_.max_new_tokens);
  }
  std::vector<Prompt> prompts;
  std::vector<std::int64_t> rows;
  for (std::int64_t row = 0; row < ids.size(0); ++row) {
    const auto at = static_cast<std::size_t>(row);
    // Ranks in step compute it all the same, because the others wait.
    if (samples[at] < 0 && !options_.in_step) continue;
    D9D_REQUIRE(lengths[at] > 0, "sample {} has no tokens but padding; give each prompt one at least",
                samples[at]);
    prompts.push_back(
        {static_cast<std::uint64_t>(samples[at]), host_integers(ids[row].narrow(0, 0, lengths[at]))});
    rows.push_back(row);
  }
  const at::Tensor tokens = at::full({ids.size(0), options_.max_new_tokens}, -1, at::kLong);
  const auto made = generator_->generate(prompts);
  for (std::size_t i = 0; i < made.size(); ++i) {
    auto* const into = tokens.data_ptr<std::int64_t>() + rows[i] * options_.max_new_tokens;
    std::copy(made[i].begin(), made[i].end(), into);
  }
  return {{"tokens", tokens}};
}

}  // namespace d9d
