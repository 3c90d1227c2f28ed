#include "runtime/rank/feed/source_feed.hpp"

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>

#include <algorithm>

#include "runtime/base/error.hpp"
#include "runtime/data/next_tokens.hpp"
#include "runtime/data/read_microbatch.hpp"
#include "runtime/data/rollout_reader.hpp"
#include "runtime/data/stream_reader.hpp"
#include "runtime/nn/model/document_starts.hpp"
#include "runtime/rank/feed/context_split.hpp"
#include "runtime/rank/feed/microbatch_parcel.hpp"
#include "runtime/rank/feed/read_ahead.hpp"
#include "runtime/task/task.hpp"
#include "runtime/task/user_call.hpp"

namespace d9d {
namespace {

// The number of tokens in each row, int64 [B]; undefined when no row is filled up.
at::Tensor row_tokens(const TensorMap& batch) {
  const auto mask = batch.find("token_mask");
  const auto ids = batch.find("input_ids");
  if (mask == batch.end() || ids == batch.end()) return {};
  const at::Tensor& given = mask->second;
  D9D_REQUIRE(
      given.dim() == 2 && given.scalar_type() == at::kBool && given.sizes() == ids->second.sizes(),
      "token_mask of a batch is a {} tensor of {} elements, expected bool [batch, sequence], as input_ids "
      "with its {}",
      c10::toString(given.scalar_type()), given.numel(), ids->second.numel());
  return given.sum(1);
}

// Passes token_mask on to the model when the task did not, because a plugin's task need not know of it.
void hand_on_token_mask(const TensorMap& batch, ForwardInputs& made) {
  const auto mask = batch.find("token_mask");
  const auto ids = made.inputs.find("input_ids");
  if (mask == batch.end() || ids == made.inputs.end()) return;
  if (ids->second.sizes() == mask->second.sizes()) made.shared.try_emplace("token_mask", mask->second);
}

class SourceFeed final : public MicrobatchFeed, private RolloutNeeds {
 public:
  explicit SourceFeed(SourceFeedOptions options) : options_(std::move(options)) {
    at::set_num_threads(options_.threads);
    if (options_.declare_metrics) options_.declare_metrics(metrics_);
    if (options_.source->is_rollouts()) {
      D9D_REQUIRE(
          options_.cycle_steps == 0 && !options_.numbers_samples,
          "data: the model writes the source's texts while it trains; a job that infers, or an evaluation, "
          "needs another source");
      rollouts_.emplace(options_.source->open_rollouts(), place(), samples_of_step(), options_.first_step,
                        options_.stream_states);
    } else if (options_.source->is_stream()) {
      open_stream();
    } else if (options_.readers > 0) {
      ahead_ = std::make_unique<ReadAhead>(options_.source, options_.readers, options_.sample_timeout);
    }
  }

  std::optional<StepInputs> load(std::uint64_t step) override {
    D9D_CHECK(step >= options_.first_step, "step {} is asked for, the first one is {}", step,
              options_.first_step);
    const StepPhases& phases = options_.phases;
    const auto samples = static_cast<std::uint64_t>(options_.maths.global_batch_size * phases.num_batches());
    std::uint64_t steps = step - options_.first_step;
    if (options_.cycle_steps > 0) steps %= options_.cycle_steps;
    if (stream_ && steps == 0 && step != options_.first_step)
      open_stream();  // each evaluation from the beginning
    const std::uint64_t begin = options_.first_sample + steps * samples;
    StepInputs inputs{.next_sample = begin + samples};
    const bool may_be_short = options_.numbers_samples || options_.shortens_last || options_.fills_last;
    const std::uint64_t needed = may_be_short ? begin + 1 : inputs.next_sample;
    if (options_.end_sample && needed > *options_.end_sample) return std::nullopt;
    if (rollouts_) rollouts_->read_step();
    if (stream_) {
      if (!stream_->read_step(static_cast<std::size_t>(samples_of_step()))) return std::nullopt;
      inputs.is_last = stream_->is_last();
      if (options_.counts) inputs.stream_state = stream_->state();
    }
    // Filling rows of the last step are no samples: a later start with more data
    // begins at the first new sample.
    if ((options_.numbers_samples || options_.fills_last) && options_.end_sample)
      inputs.next_sample = std::min(inputs.next_sample, *options_.end_sample);
    inputs.microbatches.resize(static_cast<std::size_t>(phases.size() * options_.maths.num_microbatches));
    for (int batch = 0; batch < phases.num_batches(); ++batch) add_batch(step, begin, batch, inputs);
    return inputs;
  }

  RolloutNeeds* rollouts() override { return rollouts_ ? this : nullptr; }

 private:
  StreamPlace place() const { return {options_.data_rank, static_cast<int>(options_.maths.num_data_ranks)}; }
  // Of this data replica.
  std::int64_t samples_of_step() const {
    return options_.maths.samples_per_rank() * options_.phases.num_batches();
  }
  void open_stream() { stream_.emplace(options_.source->open_stream(), place(), options_.stream_states); }

  std::uint64_t lag() const override { return static_cast<std::uint64_t>(rollouts_->options().lag); }
  std::uint64_t asked() const override { return rollouts_->asked(); }
  std::uint64_t written() const override { return rollouts_->written(); }
  void write(Texts texts) override { rollouts_->write(std::move(texts)); }
  std::string stream_state() const override { return options_.counts ? rollouts_->state() : ""; }
  TextRequest ask() override {
    const RolloutOptions& rollouts = rollouts_->options();
    const auto of_replica = static_cast<std::uint64_t>(samples_of_step());
    const std::uint64_t before = options_.first_sample + (asked() + 1 - options_.first_step) * of_replica *
                                                             static_cast<std::uint64_t>(place().replicas);
    TextRequest request;
    for (Rollout& rollout :
         rollouts_->ask(before + of_replica * static_cast<std::uint64_t>(place().replica))) {
      if (request.prompts.empty()) request.first = rollout.number;
      request.prompts.push_back(std::move(rollout.prompt));
    }
    request.options.max_new_tokens = rollouts.max_new_tokens;
    request.options.temperature = rollouts.temperature;
    request.options.top_p = rollouts.top_p;
    request.options.ends = rollouts.ends;
    request.options.seed = options_.text_seed;
    return request;
  }

  // The samples of this rank in a batch that begins with `begin`.
  void begin_to_read(std::uint64_t begin) {
    if (!ahead_) return;
    const std::uint64_t first = options_.maths.first_sample(begin, options_.data_rank);
    auto count = static_cast<std::uint64_t>(options_.maths.samples_per_rank());
    if (options_.end_sample)
      count = std::min(count, *options_.end_sample - std::min(first, *options_.end_sample));
    ahead_->begin(first, count);
  }

  // Reads each microbatch once for all phases that use it. Microbatches are stored phase after phase.
  void add_batch(std::uint64_t step, std::uint64_t step_begin, int number, StepInputs& inputs) {
    const std::uint64_t begin =
        step_begin + static_cast<std::uint64_t>(number * options_.maths.global_batch_size);
    const int count = static_cast<int>(options_.maths.num_microbatches);
    begin_to_read(begin);
    for (int i = 0; i < count; ++i) {
      const Read read = this->read(begin, i);
      count_tokens(read, inputs);
      for (int phase = 0; phase < options_.phases.size(); ++phase) {
        if (options_.phases[phase].batch != number) continue;
        inputs.microbatches[static_cast<std::size_t>(phase * count + i)] =
            make({step, i, read.batch, options_.phase + phase, &metrics_}, read);
      }
    }
  }

  struct Read {
    TensorMap batch;        // this rank's part
    at::Tensor row_tokens;  // int64 [B], tokens of whole rows; undefined when no row is filled up
    at::Tensor starts;      // int64 [B, S], of whole rows: what fills up is set apart; undefined: no need
    std::int64_t rows = 0;  // so many of the first rows are samples, the others fill the batch up
    bool is_filler = false;
  };

  // Counts this rank's tokens without filling positions; rows may have been cut to the longest of the
  // microbatch. A token counts as many operations as in a row of its own sequence's length.
  void count_tokens(const Read& read, StepInputs& inputs) const {
    const auto found = read.batch.find("input_ids");  // absent in batches of some plugins
    if (found == read.batch.end() || read.is_filler) return;
    const at::Tensor& ids = found->second;
    if (ids.dim() < 2) {
      inputs.tokens += static_cast<std::uint64_t>(ids.numel());
      return;
    }
    const auto add = [&](std::int64_t tokens, std::int64_t length) {
      inputs.tokens += static_cast<std::uint64_t>(tokens);
      if (options_.flops_per_token && tokens > 0)
        inputs.flops += static_cast<double>(tokens) * options_.flops_per_token(length);
    };
    if (!read.row_tokens.defined()) {
      const std::int64_t of_a_row = ids.numel() / std::max<std::int64_t>(ids.size(0), 1);
      return add(read.rows * of_a_row, ids.size(1) * static_cast<std::int64_t>(options_.place.ranks));
    }
    const at::Tensor own = read.batch.at("token_mask").sum(1);
    for (std::int64_t row = 0; row < read.rows; ++row)
      add(own[row].item<std::int64_t>(), read.row_tokens[row].item<std::int64_t>());
  }

  std::optional<std::uint64_t> short_end() const {
    return options_.shortens_last ? options_.end_sample : std::nullopt;
  }

  TensorMap read_whole(std::uint64_t begin, int index) {
    const Collation* const collation = options_.collation.get();
    const auto rows = static_cast<std::size_t>(options_.maths.microbatch_size);
    if (rollouts_) return collate(rollouts_->take(rows), collation);
    if (!stream_)
      return read_microbatch(ahead_ ? *ahead_ : *options_.source, options_.maths, options_.data_rank, begin,
                             index, collation, options_.fills_last ? options_.end_sample : short_end(),
                             options_.fills_last ? RestOfBatch::filled_up : RestOfBatch::left_out);
    return collate(stream_->take(rows), collation);
  }

  Read read(std::uint64_t begin, int index) {
    TensorMap whole = read_whole(begin, index);
    add_next_tokens(whole, options_.prediction_depths);
    Read read;
    read.is_filler = is_filler(options_.maths, options_.data_rank, begin, index, short_end());
    read.row_tokens = row_tokens(whole);
    if (read.row_tokens.defined()) read.starts = starts_without_seen_filling(whole, options_.causal);
    read.batch = split_sequence(std::move(whole), options_.place);
    const auto ids = read.batch.find("input_ids");
    if (ids != read.batch.end() && ids->second.dim() > 0) read.rows = ids->second.size(0);
    if (options_.numbers_samples) {
      const at::Tensor numbers = read.batch[sample_numbers] = numbers_of(begin, index);
      if (read.rows == numbers.numel()) read.rows = numbers.ge(0).sum().item<std::int64_t>();
    }
    return read;
  }

  Ticket make(const MicrobatchContext& context, const Read& read) {
    const TensorMap& batch = context.batch;
    ForwardInputs made =
        call_user(fmt::format("the task's build_forward_inputs of step {}, microbatch {},", context.step,
                              context.microbatch),
                  ErrorInside::is_named, [&] { return options_.task->build_forward_inputs(context); });
    D9D_REQUIRE(
        !batch.contains("document_starts") || made.shared.contains("document_starts") ||
            made.inputs.contains("document_starts"),
        "rows of the batch hold several documents, and the task does not hand on where they begin, so "
        "they would see each other; add the batch's document_starts to the shared inputs, or use "
        "data.samples: document");
    hand_on_token_mask(batch, made);
    if (read.starts.defined() && made.shared.contains("token_mask"))
      made.shared["document_starts"] = read.starts;
    if (options_.numbers_samples) made.state[sample_numbers] = batch.at(sample_numbers);
    std::vector<double> counted = metrics_.take_updates();
    if (read.is_filler) made.state[filler_microbatch] = at::ones({});
    if (!options_.counts || read.is_filler) counted.clear();
    return options_.table->put(std::make_unique<MicrobatchParcel>(
        MicrobatchTensors{std::move(made.inputs), std::move(made.shared), std::move(made.state)},
        std::move(counted)));
  }

  at::Tensor numbers_of(std::uint64_t begin, int microbatch) const {
    const std::int64_t rows = options_.maths.microbatch_size;
    const std::uint64_t first = options_.maths.first_of_microbatch(begin, options_.data_rank, microbatch);
    at::Tensor numbers = at::empty({rows}, at::kLong);
    auto* const row = numbers.mutable_data_ptr<std::int64_t>();
    for (std::int64_t i = 0; i < rows; ++i) {
      const std::uint64_t number = first + static_cast<std::uint64_t>(i);
      row[i] = options_.end_sample && number >= *options_.end_sample ? -1 : static_cast<std::int64_t>(number);
    }
    return numbers;
  }

  const SourceFeedOptions options_;
  std::optional<StreamReader> stream_;  // of a source of streams
  std::optional<RolloutReader> rollouts_;
  std::unique_ptr<ReadAhead> ahead_;  // null: the calling thread reads
  Compose metrics_;                   // empty between two microbatches
};

// Whether there is a place in a row where a document goes on from what fills up to tokens, or back.
bool is_seen(const at::Tensor& is_token, const at::Tensor& starts, bool causal) {
  const auto* const token = is_token.const_data_ptr<bool>();
  const auto* const start = starts.defined() ? starts.const_data_ptr<std::int64_t>() : nullptr;
  const std::int64_t length = is_token.size(1);
  for (std::int64_t at = 0; at < is_token.numel(); ++at) {
    const std::int64_t i = at % length;
    if (i == 0 || token[at] == token[at - 1] || (causal && !token[at])) continue;
    if (start == nullptr || start[at] != i) return true;
  }
  return false;
}

}  // namespace

std::unique_ptr<MicrobatchFeed> make_source_feed(SourceFeedOptions options) {
  return std::make_unique<SourceFeed>(std::move(options));
}

at::Tensor starts_without_seen_filling(const TensorMap& batch, bool causal) {
  const auto mask = batch.find("token_mask");
  if (mask == batch.end()) return {};
  const auto found = batch.find("document_starts");
  const at::Tensor is_token = mask->second.contiguous();
  const at::Tensor starts = found == batch.end() ? at::Tensor() : found->second.contiguous();
  return is_seen(is_token, starts, causal) ? starts_apart(starts, is_token) : at::Tensor();
}

}  // namespace d9d
