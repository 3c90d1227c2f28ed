#include "runtime/data/source/tokens_source.hpp"

#include <algorithm>
#include <cmath>

#include "runtime/base/error.hpp"

namespace d9d {
namespace {

void require_integers(const NpyArray& array, const char* key) {
  D9D_REQUIRE(is_integer(array.type()),
              "{}: {} holds {}, expected integers (numpy: array.astype(\"int32\")); numbers to learn are "
              "data.targets",
              key, array.path().string(), name_of(array.type()));
}

NpyArray open_tokens(const TokensDataConfig& config) {
  NpyArray tokens(config.tokens);
  require_integers(tokens, "data.tokens");
  D9D_REQUIRE(tokens.shape().size() == 2 && tokens.num_elements() > 0,
              "data.tokens: {} has shape [{}], expected [samples, length] with at least one of each",
              config.tokens, fmt::join(tokens.shape(), ", "));
  return tokens;
}

void require_floats(const NpyArray& array, const char* key) {
  D9D_REQUIRE(
      is_float(array.type()),
      "{}: {} holds {}, expected floats, NaN where a token has none (numpy: array.astype(\"float32\"))", key,
      array.path().string(), name_of(array.type()));
}

void require_flags(const NpyArray& array, const char* key) {
  if (array.type() != NpyType::boolean) require_integers(array, key);
}

std::optional<NpyArray> open_beside(const std::optional<std::string>& path, const char* key,
                                    const NpyArray& tokens,
                                    void (*require_type)(const NpyArray&, const char*) = require_integers) {
  if (!path) return std::nullopt;
  NpyArray array(*path);
  require_type(array, key);
  D9D_REQUIRE(array.shape() == tokens.shape(), "{}: {} has shape [{}], expected that of data.tokens, [{}]",
              key, *path, fmt::join(array.shape(), ", "), fmt::join(tokens.shape(), ", "));
  return array;
}

}  // namespace

TokensSource::TokensSource(const TokensDataConfig& config, TokensLimits limits, TokenLabels labels)
    : name_(config.tokens),
      tokens_(open_tokens(config)),
      labels_(open_beside(config.labels, "data.labels", tokens_)),
      targets_(open_beside(config.targets, "data.targets", tokens_, require_floats)),
      positions_(open_beside(config.position_ids, "data.position_ids", tokens_)),
      mask_(open_beside(config.attention_mask, "data.attention_mask", tokens_, require_flags)),
      order_(static_cast<std::uint64_t>(tokens_.shape()[0]), config.shuffle,
             static_cast<std::uint64_t>(config.seed.value_or(0))),
      limits_(limits),
      labels_are_next_(labels == TokenLabels::next && !labels_ && !targets_) {
  D9D_REQUIRE(!labels_ || !targets_, "data.targets: given beside data.labels; leave one of the two out");
}

void TokensSource::read_row(const NpyArray& array, std::int64_t row, const char* what,
                            std::vector<std::int64_t>& out) const {
  array.read(row * sequence_length(), out);
  const bool are_labels = labels_ && &array == &*labels_;
  const bool are_classes = are_labels && limits_.classes_below;
  const std::optional<std::int64_t>& below = are_classes ? limits_.classes_below : limits_.ids_below;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::int64_t id = out[i];
    if (are_labels && id == ignored_label) continue;
    D9D_REQUIRE(id >= 0, "{}: row {} holds the {} {} at position {}, expected 0 or more{}",
                array.path().string(), row, what, id, i,
                are_labels ? fmt::format(", or {}", ignored_label) : "");
    D9D_REQUIRE(!below || id < *below,
                "{}: row {} holds the {} {} at position {}, but {} is {}; raise it, or mend the file",
                array.path().string(), row, what, id, i,
                are_classes ? "model_provider.head.num_labels" : "model_provider.model.vocab_size", *below);
  }
}

void TokensSource::read_targets(std::int64_t row, std::vector<float>& targets) const {
  targets.resize(static_cast<std::size_t>(sequence_length()));
  targets_->read(row * sequence_length(), std::span(targets));
  for (std::size_t i = 0; i < targets.size(); ++i) {
    D9D_REQUIRE(!std::isinf(targets[i]),
                "{}: row {} holds {} at position {}, expected a number, or NaN for none; mend the file",
                targets_->path().string(), row, targets[i], i);
  }
}

std::vector<std::int64_t> TokensSource::read_starts(std::int64_t row) const {
  std::vector<std::int64_t> starts(static_cast<std::size_t>(sequence_length()));
  positions_->read(row * sequence_length(), starts);
  std::int64_t expected = 0;
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const std::int64_t position = starts[i];
    D9D_REQUIRE(position == 0 || position == expected,
                "{}: row {} holds the position {} at {}, expected {}, or 0 where a document begins; mend the "
                "file, or leave data.position_ids out for rows of one document",
                positions_->path().string(), row, position, i, expected);
    starts[i] = static_cast<std::int64_t>(i) - position;
    expected = position + 1;
  }
  return starts;
}

std::pair<std::ptrdiff_t, std::ptrdiff_t> TokensSource::read_mask(std::int64_t row,
                                                                  std::vector<std::int64_t>& mask) const {
  mask.resize(static_cast<std::size_t>(sequence_length()));
  mask_->read(row * sequence_length(), mask);
  const auto begin = std::find_if(mask.begin(), mask.end(), [](auto value) { return value != 0; });
  const auto end = std::find_if(begin, mask.end(), [](auto value) { return value != 1; });
  const auto wrong = std::find_if(end, mask.end(), [](auto value) { return value != 0; });
  D9D_REQUIRE(
      wrong == mask.end(),
      "{}: row {} holds a {} at position {}, expected 1 for tokens, and 0 for padding before and after them "
      "alone; mend the file, or leave data.attention_mask out to take all for tokens",
      mask_->path().string(), row, *wrong, wrong - mask.begin());
  return {begin - mask.begin(), end - mask.begin()};
}

void TokensSource::apply_mask(std::int64_t row, Sample& sample) const {
  std::vector<std::int64_t> mask;
  const auto [first, last] = read_mask(row, mask);
  if (first == 0 && last == std::ssize(mask)) return;
  sample.token_mask.assign(mask.begin(), mask.end());
  std::fill(sample.labels.begin(), sample.labels.begin() + first, ignored_label);
  // The last token has no next one either.
  const std::ptrdiff_t labelled = labels_are_next_ ? std::max(first, last - 1) : last;
  std::fill(sample.labels.begin() + labelled, sample.labels.end(), ignored_label);
  if (first == 0 || !sample.document_starts.empty()) return;
  sample.document_starts.assign(mask.size(), 0);
  std::fill(sample.document_starts.begin() + first, sample.document_starts.end(), first);
}

Sample TokensSource::at(std::uint64_t index) const {
  const auto length = static_cast<std::size_t>(sequence_length());
  const auto row = static_cast<std::int64_t>(order_.item_at(index));
  Sample sample{std::vector<std::int64_t>(length), std::vector<std::int64_t>(length, ignored_label)};
  read_row(tokens_, row, "token", sample.input_ids);
  if (labels_) {
    read_row(*labels_, row, "label", sample.labels);
  } else if (targets_) {
    std::vector<float>& targets = sample.numbers["targets"];
    read_targets(row, targets);
    std::ranges::transform(targets, sample.labels.begin(),
                           [](float target) { return std::isnan(target) ? ignored_label : 0; });
  } else {
    std::copy(sample.input_ids.begin() + (labels_are_next_ ? 1 : 0), sample.input_ids.end(),
              sample.labels.begin());
  }
  if (positions_) sample.document_starts = read_starts(row);
  for (std::size_t i = 1; i < sample.document_starts.size() && labels_are_next_; ++i) {
    if (sample.document_starts[i] == static_cast<std::int64_t>(i)) sample.labels[i - 1] = ignored_label;
  }
  if (mask_) apply_mask(row, sample);
  return sample;
}

std::optional<Scanned> TokensSource::scan_ids(const ScanLimits& limits) const {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point end = Clock::now() + limits.time_max;
  const auto length = static_cast<std::size_t>(sequence_length());
  std::uint64_t row_bytes = length * bytes_of(tokens_.type());
  for (const auto* file : {&labels_, &targets_, &positions_, &mask_})
    if (*file) row_bytes += length * bytes_of((*file)->type());
  std::vector<std::int64_t> values(length);
  std::vector<float> targets;
  Scanned scanned{.samples = 0, .all = *num_samples(), .unit = "row"};
  while (scanned.samples < scanned.all) {
    const auto row = static_cast<std::int64_t>(scanned.samples);
    read_row(tokens_, row, "token", values);
    if (labels_) read_row(*labels_, row, "label", values);
    if (targets_) read_targets(row, targets);
    if (positions_) read_starts(row);
    if (mask_) read_mask(row, values);
    ++scanned.samples;
    if (scanned.samples * row_bytes >= limits.bytes_max || Clock::now() >= end) break;
  }
  return scanned;
}

}  // namespace d9d
