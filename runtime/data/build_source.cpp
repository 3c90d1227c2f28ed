#include "runtime/data/build_source.hpp"

#include "runtime/base/error.hpp"
#include "runtime/data/corpus/chosen_documents.hpp"
#include "runtime/data/corpus/megatron_corpus.hpp"
#include "runtime/data/corpus/permutation.hpp"
#include "runtime/data/corpus/row_choice.hpp"
#include "runtime/data/source/chat_source.hpp"
#include "runtime/data/source/mixture_source.hpp"
#include "runtime/data/source/order/ordered_source.hpp"
#include "runtime/data/source/prompts_source.hpp"
#include "runtime/data/source/source_over.hpp"
#include "runtime/data/source/synthetic_source.hpp"
#include "runtime/data/source/text_source.hpp"
#include "runtime/data/source/token_lists_source.hpp"
#include "runtime/data/source/tokens_source.hpp"

namespace d9d {
namespace {

using Source = std::shared_ptr<const SampleSource>;

// Some of the samples of another source, in the files' order.
class ChosenSamples final : public SourceOver {
 public:
  // `source` must not be endless. Errors as RowChoice.
  ChosenSamples(std::shared_ptr<const SampleSource> source, const RowChoiceConfig& rows, bool shuffle)
      : SourceOver(std::move(source)),
        choice_(source_->num_samples().value(), rows),
        order_(choice_.count(), shuffle, rows.seed) {}
  std::optional<std::uint64_t> num_samples() const override { return choice_.count(); }

 private:
  std::uint64_t index_of(std::uint64_t index) const override { return choice_.row_at(order_.item_at(index)); }

  const RowChoice choice_;
  const EpochOrder order_;
};

SampleForm form_of(const SourceNeeds& needs) {
  return {needs.rest, needs.labels};
}

// Its ids are below a number of the job file, which is checked there.
Source build(const SyntheticDataConfig& config, const SourceNeeds&) {
  return std::make_shared<SyntheticSource>(config);
}

Source build(const TextDataConfig& config, const SourceNeeds& needs) {
  return std::make_shared<TextSource>(config, needs.ids_below, form_of(needs), needs.wishes);
}

Source build(const TokensDataConfig& config, const SourceNeeds& needs) {
  const RowChoiceConfig rows = row_choice_of(config);
  const TokensLimits limits{needs.ids_below, needs.classes_below};
  if (rows.is_all()) return std::make_shared<TokensSource>(config, limits, needs.labels);
  TokensDataConfig all = config;  // shuffled are those that are chosen
  all.shuffle = false;
  return std::make_shared<ChosenSamples>(std::make_shared<TokensSource>(all, limits, needs.labels), rows,
                                         config.shuffle);
}

Source build(const MegatronDataConfig& config, const SourceNeeds& needs) {
  return std::make_shared<CorpusSource>(
      chosen_documents(std::make_shared<MegatronCorpus>(config.prefix, needs.ids_below),
                       row_choice_of(config)),
      CorpusSourceOptions{.sequence_length = config.sequence_length,
                          .samples = config.samples,
                          .shuffle = config.shuffle,
                          .seed = static_cast<std::uint64_t>(config.seed.value_or(0)),
                          .vocab_size = needs.ids_below,
                          .what = "the file",
                          .form = form_of(needs)});
}

Source build(const ChatDataConfig& config, const SourceNeeds& needs) {
  return std::make_shared<ChatSource>(config, needs.ids_below, form_of(needs), needs.wishes);
}

Source build(const PromptsDataConfig& config, const SourceNeeds& needs) {
  return std::make_shared<PromptsSource>(config, needs.ids_below, needs.labels);
}

Source build(const TokenListsDataConfig& config, const SourceNeeds& needs) {
  return std::make_shared<TokenListsSource>(config, needs.ids_below, form_of(needs), needs.wishes);
}

Source build(const OwnDataConfig& config, const SourceNeeds& needs) {
  D9D_CHECK(needs.make_own, "a plugin's source and none who makes it");
  return needs.make_own(config);
}

std::optional<std::uint64_t> end_of(const PartConfig& config, const SampleSource& source) {
  const auto epochs = std::visit(
      [](const auto& which) {
        if constexpr (requires { which.epochs; }) return which.epochs;
        return Epochs{.count = std::nullopt};
      },
      config);
  const auto samples = source.num_samples();
  if (!samples || !epochs.count) return std::nullopt;
  std::uint64_t end = 0;
  const bool overflow = __builtin_mul_overflow(*samples, static_cast<std::uint64_t>(*epochs.count), &end);
  constexpr std::uint64_t never = std::uint64_t{1} << 40;  // as many as a mixture can have
  return overflow || end > never ? never : end;
}

Source build(const MixtureDataConfig& config, const SourceNeeds& needs);

// Both choose samples by their numbers.
Source require_numbers(Source source, const char* what) {
  D9D_REQUIRE(!source->is_stream(),
              "the source is a stream, whose samples come one after another: it cannot {}", what);
  return source;
}

Source ordered(Source source, const SampleOrder& order, std::uint64_t seed) {
  if (order.sorted || order.shards) require_numbers(source, "have an order");
  return in_order(std::move(source), order, seed);
}

Source build_seeded(const auto& config, const SourceNeeds& needs) {
  if constexpr (requires { config.shuffle; }) {
    auto seeded = config;
    if (!seeded.seed) seeded.seed = static_cast<std::int64_t>(needs.base_seed);
    return ordered(build(seeded, needs), config.order, static_cast<std::uint64_t>(*seeded.seed));
  } else if constexpr (requires { config.order; }) {
    return ordered(build(config, needs), config.order, needs.base_seed);
  } else {
    return build(config, needs);
  }
}

Source build_part(const PartConfig& config, const SourceNeeds& needs, std::size_t index) {
  try {
    return require_numbers(std::visit([&](const auto& which) { return build_seeded(which, needs); }, config),
                           "be a part of a mixture");
  } catch (const Error& error) {
    throw Error(error.kind(), error.what(), fmt::format("data.parts.{}", index));
  }
}

Source build(const MixtureDataConfig& config, const SourceNeeds& needs) {
  std::vector<WeightedSource> parts;
  for (const MixturePart& part : config.parts) {
    Source source = build_part(part.source, needs, parts.size());
    const auto end = end_of(part.source, *source);
    parts.push_back({part.weight, std::move(source), end});
  }
  return std::make_shared<MixtureSource>(std::move(parts));
}

}  // namespace

std::shared_ptr<const SampleSource> build_source(const DataConfig& config, const SourceNeeds& needs) {
  return std::visit([&](const auto& which) { return build_seeded(which, needs); }, config);
}

}  // namespace d9d
