#include "runtime/text/generating_part.hpp"

#include <ATen/ops/full.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include <utility>

#include "runtime/base/error.hpp"
#include "runtime/device/host_numbers.hpp"
#include "runtime/task/inference_task.hpp"
#include "runtime/text/chosen_tokens.hpp"
#include "runtime/text/recomputed_stage.hpp"

namespace d9d {
namespace {

using Numbers = std::vector<std::int64_t>;

constexpr const char* shared_inputs = "the task's shared inputs";

std::int64_t number_in(const TensorMap& shared, const char* name) {
  return host_integers(tensor_at(shared, name, shared_inputs)).at(0);
}

}  // namespace

struct GeneratingPart::Batch {
  std::unique_ptr<StageCache> cache;
  Numbers samples, lengths;                   // by row
  std::vector<Numbers> made;                  // by row; on the last stage
  std::vector<std::vector<float>> log_probs;  // of these tokens, where they are asked for
  std::vector<std::size_t> ends;              // of these texts, 0: not yet
  std::vector<Numbers> prompts;               // by row; on the last stage, where repetitions are penalised
};

GeneratingPart::GeneratingPart(std::shared_ptr<StageModule> stage, StagePosition position,
                               GenerateOptions options)
    : module_(std::move(stage)),
      recomputed_(dynamic_cast<GeneratingStage*>(module_.get()) != nullptr
                      ? nullptr
                      : std::make_unique<RecomputedStage>(module_)),
      stage_(recomputed_ ? *recomputed_ : generating_stage(*module_)),
      position_(position),
      options_(std::move(options)) {
  require_possible(options_);
}

GeneratingPart::~GeneratingPart() = default;

TensorMap GeneratingPart::forward(const TensorMap& inputs, const TensorMap& shared) {
  const std::int64_t pass = number_in(shared, pass_number);
  const std::int64_t microbatch = number_in(shared, microbatch_number);
  Batch& batch = pass == 0 ? begin(microbatch, shared) : *batches_.at(microbatch);
  const Numbers rows = position_.is_first() && pass == 0
                           ? first_rows(batch)
                           : host_integers(tensor_at(inputs, "rows", "stage inputs"));
  TensorMap outputs = rows.empty() ? TensorMap() : extend(batch, inputs, rows, pass);
  if (position_.is_last()) return choose(batch, outputs, rows, pass);
  outputs["rows"] = at::tensor(rows, at::kLong);
  return outputs;
}

// All microbatches have one shape, so that a cache serves those of later steps, too.
GeneratingPart::Batch& GeneratingPart::begin(std::int64_t microbatch, const TensorMap& shared) {
  auto& batch = batches_[microbatch];
  if (!batch) batch = std::make_unique<Batch>();
  batch->samples = host_integers(tensor_at(shared, "sample_numbers", shared_inputs));
  batch->lengths = host_integers(tensor_at(shared, "prompt_lengths", shared_inputs));
  batch->made.assign(batch->samples.size(), {});
  batch->log_probs.assign(batch->samples.size(), {});
  batch->ends.assign(batch->samples.size(), 0);
  batch->prompts.assign(batch->samples.size(), {});
  if (position_.is_last() && options_.repetition_penalty != 1) {
    const at::Tensor& ids = tensor_at(shared, "prompts", shared_inputs);
    for (std::size_t row = 0; row < batch->prompts.size(); ++row)
      batch->prompts[row] =
          host_integers(ids[static_cast<std::int64_t>(row)].narrow(0, 0, batch->lengths[row]));
  }
  if (!batch->cache) {
    batch->cache = stage_.make_cache({.sequences = std::ssize(batch->samples),
                                      .tokens = number_in(shared, "prompt_room") + options_.max_new_tokens});
  }
  return *batch;
}

// Ranks in step compute rows of no sample all the same, because the others wait.
Numbers GeneratingPart::first_rows(const Batch& batch) const {
  Numbers rows;
  for (std::int64_t row = 0; row < std::ssize(batch.samples); ++row) {
    const auto at = static_cast<std::size_t>(row);
    if (batch.samples[at] < 0 && !options_.in_step) continue;
    D9D_REQUIRE(batch.lengths[at] > 0, "sample {} has no tokens but padding; give each prompt one at least",
                batch.samples[at]);
    rows.push_back(row);
  }
  return rows;
}

TensorMap GeneratingPart::extend(Batch& batch, const TensorMap& inputs, const Numbers& rows,
                                 std::int64_t pass) {
  NewTokens tokens;
  Numbers last;
  for (const std::int64_t row : rows) {
    const std::int64_t length = batch.lengths[static_cast<std::size_t>(row)];
    tokens.stretches.push_back(
        {row, pass == 0 ? 0 : length + pass - 1, pass == 0 ? length : std::int64_t{1}});
    last.push_back(tokens.counted() - 1);
  }
  TensorMap given = inputs;
  given.erase("rows");
  if (position_.is_first()) {
    Numbers ids;
    if (pass == 0) {
      const at::Tensor& prompts = tensor_at(inputs, "input_ids", "stage inputs");
      for (const std::int64_t row : rows) {
        const Numbers prompt =
            host_integers(prompts[row].narrow(0, 0, batch.lengths[static_cast<std::size_t>(row)]));
        ids.insert(ids.end(), prompt.begin(), prompt.end());
      }
    } else {
      ids = host_integers(tensor_at(inputs, "tokens", "stage inputs"));
    }
    given = {{"input_ids", at::tensor(ids, at::kLong).unsqueeze(0)}};
  }
  return stage_.extend(given, {{"logit_positions", at::tensor(last, at::kLong)}}, *batch.cache, tokens);
}

TensorMap GeneratingPart::choose(Batch& batch, const TensorMap& outputs, const Numbers& rows,
                                 std::int64_t pass) const {
  Numbers on, tokens;
  if (!rows.empty()) {
    std::vector<TokenPlace> places;
    for (const std::int64_t row : rows) {
      const auto at = static_cast<std::size_t>(row);
      places.push_back({static_cast<std::uint64_t>(batch.samples[at]), static_cast<std::uint64_t>(pass),
                        batch.prompts[at], batch.made[at]});
    }
    std::vector<float> log_probs;
    const Numbers chosen = chosen_tokens(tensor_at(outputs, "logits", "the model's outputs")[0], places,
                                         options_, options_.log_probs ? &log_probs : nullptr);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto at = static_cast<std::size_t>(rows[i]);
      Numbers& text = batch.made[at];
      text.push_back(chosen[i]);
      if (options_.log_probs) batch.log_probs[at].push_back(log_probs[i]);
      if (batch.ends[at] == 0 && ends_text(options_, text)) batch.ends[at] = text.size();
      if (!options_.in_step && batch.ends[at] > 0) continue;
      on.push_back(rows[i]);
      tokens.push_back(chosen[i]);
    }
  }
  if (pass + 1 < options_.max_new_tokens)
    return {{"rows", at::tensor(on, at::kLong)}, {"tokens", at::tensor(tokens, at::kLong)}};
  const at::Tensor made = at::full({std::ssize(batch.made), options_.max_new_tokens}, -1, at::kLong);
  for (std::size_t row = 0; row < batch.made.size(); ++row) {
    if (batch.ends[row] > 0) batch.made[row].resize(batch.ends[row]);
    std::copy(batch.made[row].begin(), batch.made[row].end(),
              made.data_ptr<std::int64_t>() + static_cast<std::int64_t>(row) * options_.max_new_tokens);
  }
  if (!options_.log_probs) return {{"tokens", made}};
  const at::Tensor log_probs = at::zeros(made.sizes(), at::kFloat);
  for (std::size_t row = 0; row < batch.made.size(); ++row)
    std::copy_n(batch.log_probs[row].begin(), batch.made[row].size(),
                log_probs.data_ptr<float>() + static_cast<std::int64_t>(row) * options_.max_new_tokens);
  return {{"tokens", made}, {"log_probs", log_probs}};
}

}  // namespace d9d
