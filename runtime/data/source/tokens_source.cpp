#include "runtime/data/source/tokens_source.hpp"

#include "runtime/base/error.hpp"

namespace d9d {
namespace {

void require_integers(const NpyArray& array, const char* key) {
  D9D_REQUIRE(is_integer(array.type()), "{}: {} holds {}, expected integers (numpy: array.astype(\"int32\"))",
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

std::optional<NpyArray> open_labels(const TokensDataConfig& config, const NpyArray& tokens) {
  if (!config.labels) return std::nullopt;
  NpyArray labels(*config.labels);
  require_integers(labels, "data.labels");
  D9D_REQUIRE(labels.shape() == tokens.shape(),
              "data.labels: {} has shape [{}], expected that of data.tokens, [{}]", *config.labels,
              fmt::join(labels.shape(), ", "), fmt::join(tokens.shape(), ", "));
  return labels;
}

}  // namespace

TokensSource::TokensSource(const TokensDataConfig& config)
    : tokens_(open_tokens(config)),
      labels_(open_labels(config, tokens_)),
      order_(static_cast<std::uint64_t>(tokens_.shape()[0]), config.shuffle,
             static_cast<std::uint64_t>(config.seed)) {}

Sample TokensSource::at(std::uint64_t index) const {
  const auto length = static_cast<std::size_t>(sequence_length());
  const auto row = static_cast<std::int64_t>(order_.item_at(index));
  Sample sample{std::vector<std::int64_t>(length), std::vector<std::int64_t>(length, kIgnoredLabel)};
  tokens_.read(row * sequence_length(), sample.input_ids);
  for (const std::int64_t id : sample.input_ids) {
    D9D_REQUIRE(id >= 0, "{}: row {} holds the token {}, expected 0 or more", tokens_.path().string(), row,
                id);
  }
  if (labels_) {
    labels_->read(row * sequence_length(), sample.labels);
    for (const std::int64_t label : sample.labels) {
      D9D_REQUIRE(label >= 0 || label == kIgnoredLabel,
                  "{}: row {} holds the label {}, expected 0 or more, or {}", labels_->path().string(), row,
                  label, kIgnoredLabel);
    }
  } else {
    std::copy(sample.input_ids.begin() + 1, sample.input_ids.end(), sample.labels.begin());
  }
  return sample;
}

}  // namespace d9d
