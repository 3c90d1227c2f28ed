#include "runtime/data/source/text_source.hpp"

#include "runtime/base/count.hpp"
#include "runtime/base/error.hpp"
#include "runtime/data/source/documents.hpp"

namespace d9d {
namespace {

Tokenizer open_tokenizer(const TextDataConfig& config, const std::optional<std::int64_t>& ids_below) {
  Tokenizer tokenizer = Tokenizer::from_file(config.tokenizer);
  const std::int64_t size = tokenizer.vocab_size();
  D9D_REQUIRE(
      !ids_below || size <= *ids_below,
      "data.tokenizer: the ids of {} go up to {}, but model_provider.model.vocab_size is {}; raise it "
      "to at least {}",
      config.tokenizer, size - 1, *ids_below, size);
  return tokenizer;
}

TokenRow read_tokens(const TextDataConfig& config, const Tokenizer& tokenizer) {
  D9D_REQUIRE(config.sequence_length >= 1, "data.sequence_length = {}, expected at least 1",
              config.sequence_length);
  std::optional<std::int32_t> eos;
  if (config.eos_token) {
    eos = tokenizer.token_id(*config.eos_token);
    D9D_REQUIRE(eos, "data.eos_token = \"{}\" is not a token of {}", *config.eos_token, config.tokenizer);
  }
  TokenRow row(tokenizer.vocab_size());
  const auto scratch = tokenizer.make_scratch();
  std::vector<std::int32_t> ids;
  for_each_document(config, [&](std::string_view text, const std::string& where) {
    ids.clear();
    try {
      tokenizer.encode(text, false, *scratch, ids);
    } catch (const Error& error) {
      throw Error(error.kind(), error.what(), where);
    }
    if (eos) ids.push_back(*eos);
    row.append(ids);
  });
  return row;
}

std::uint64_t whole_samples(std::size_t num_tokens, std::int64_t sequence_length) {
  const auto length = static_cast<std::size_t>(sequence_length);
  D9D_REQUIRE(num_tokens > length, "the text has {}, expected more than data.sequence_length = {}",
              counted(num_tokens, "token"), sequence_length);
  return (num_tokens - 1) / length;
}

}  // namespace

void TokenRow::append(std::span<const std::int32_t> ids) {
  if (narrow_) {
    ids16_.insert(ids16_.end(), ids.begin(), ids.end());
  } else {
    ids32_.insert(ids32_.end(), ids.begin(), ids.end());
  }
}

void TokenRow::read(std::size_t first, std::span<std::int64_t> out) const {
  D9D_CHECK(first + out.size() <= size(), "tokens {} to {} of {}", first, first + out.size(), size());
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = narrow_ ? ids16_[first + i] : ids32_[first + i];
}

TextSource::TextSource(const TextDataConfig& config, std::optional<std::int64_t> ids_below)
    : TextSource(config, open_tokenizer(config, ids_below)) {}

TextSource::TextSource(const TextDataConfig& config, const Tokenizer& tokenizer)
    : sequence_length_(config.sequence_length),
      vocab_size_(tokenizer.vocab_size()),
      tokens_(read_tokens(config, tokenizer)),
      num_samples_(whole_samples(tokens_.size(), sequence_length_)),
      order_(num_samples_, config.shuffle, static_cast<std::uint64_t>(config.seed.value_or(0))) {}

Sample TextSource::at(std::uint64_t index) const {
  const auto length = static_cast<std::size_t>(sequence_length_);
  const std::size_t first = order_.item_at(index) * length;
  Sample sample{std::vector<std::int64_t>(length), std::vector<std::int64_t>(length)};
  tokens_.read(first, sample.input_ids);
  tokens_.read(first + 1, sample.labels);
  return sample;
}

}  // namespace d9d
