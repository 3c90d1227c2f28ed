#include "runtime/data/source/text_source.hpp"

#include "runtime/base/config/decode.hpp"
#include "runtime/base/error.hpp"
#include "runtime/data/digest.hpp"
#include "runtime/data/source/documents.hpp"
#include "runtime/data/source/tokenized_text.hpp"

namespace d9d {
namespace {

Tokenizer open_tokenizer(const TextDataConfig& config, const std::optional<std::int64_t>& ids_below) {
  Tokenizer tokenizer = Tokenizer::from_file(config.tokenizer);
  require_ids_below(tokenizer, config.tokenizer, ids_below);
  return tokenizer;
}

std::shared_ptr<const TokenCorpus> read_tokens(const TextDataConfig& config, const Tokenizer& tokenizer) {
  D9D_REQUIRE(config.sequence_length >= 1, "data.sequence_length = {}, expected at least 1",
              config.sequence_length);
  return corpus_of(text_recipe(config, tokenizer));
}

CorpusSourceOptions options_of(const TextDataConfig& config, const Tokenizer& tokenizer, RestOfRows rest) {
  return {.sequence_length = config.sequence_length,
          .samples = config.samples,
          .shuffle = config.shuffle,
          .seed = static_cast<std::uint64_t>(config.seed.value_or(0)),
          .pad_id = eos_of(config, tokenizer).value_or(0),
          .vocab_size = tokenizer.vocab_size(),
          .rest = rest};
}

}  // namespace

TokenRecipe text_recipe(const TextDataConfig& config, const Tokenizer& tokenizer) {
  const config::Json all = config::encode(config);
  config::Json keys = {{"tokenizer", sha256_of_file(config.tokenizer)}};
  for (const char* key : {"format", "text_field", "document", "eos_token"}) keys[key] = all.at(key);
  return {.cache = config.cache,
          .files = files_of(config),
          .keys = std::move(keys),
          .vocab_size = tokenizer.vocab_size(),
          .make = [config, &tokenizer](const UseMadeDocument& use) {
            tokenize_documents(config, tokenizer,
                               [&](std::span<const std::int32_t> ids, std::uint64_t bytes) {
                                 use({.ids = ids, .bytes_read = bytes});
                               });
          }};
}

TextSource::TextSource(const TextDataConfig& config, std::optional<std::int64_t> ids_below, RestOfRows rest)
    : TextSource(config, open_tokenizer(config, ids_below), rest) {}

TextSource::TextSource(const TextDataConfig& config, const Tokenizer& tokenizer, RestOfRows rest)
    : corpus_(read_tokens(config, tokenizer)), samples_(corpus_, options_of(config, tokenizer, rest)) {}

}  // namespace d9d
