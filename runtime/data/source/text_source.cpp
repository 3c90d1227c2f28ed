#include "runtime/data/source/text_source.hpp"

#include "runtime/base/config/decode.hpp"
#include "runtime/base/error.hpp"
#include "runtime/data/source/documents.hpp"
#include "runtime/data/source/tokenized_text.hpp"

namespace d9d {
namespace {

std::shared_ptr<const TokenCorpus> read_tokens(const TextDataConfig& config, const Tokenizer& tokenizer,
                                               std::optional<std::int64_t> ids_below) {
  D9D_REQUIRE(config.sequence_length >= 1, "data.sequence_length = {}, expected at least 1",
              config.sequence_length);
  return corpus_of(text_recipe(config, tokenizer, ids_below));
}

CorpusSourceOptions options_of(const TextDataConfig& config, const Tokenizer& tokenizer) {
  return {.sequence_length = config.sequence_length,
          .samples = config.samples,
          .shuffle = config.shuffle,
          .seed = static_cast<std::uint64_t>(config.seed.value_or(0)),
          .pad_id = eos_of(config, tokenizer).value_or(0),
          .vocab_size = tokenizer.vocab_size()};
}

}  // namespace

TokenRecipe text_recipe(const TextDataConfig& config, const Tokenizer& tokenizer,
                        std::optional<std::int64_t> ids_below) {
  const config::Json all = config::encode(config);
  config::Json keys = {{"tokenizer", digest_of_tokenizer(config.tokenizer)}};
  for (const char* key : {"format", "text_field", "document", "eos_token"}) keys[key] = all.at(key);
  // The names of caches made before there was the key stay.
  if (config.bos_token) keys["bos_token"] = *config.bos_token;
  return {.cache = config.cache,
          .files = files_of(config),
          .keys = std::move(keys),
          .vocab_size = tokenizer.vocab_size(),
          // A smaller tokenizer has no id to look for.
          .ids_below = ids_below && tokenizer.vocab_size() > *ids_below ? ids_below : std::nullopt,
          .make = [config, &tokenizer, ids_below](const UseMadeDocument& use) {
            tokenize_documents(config, tokenizer, ids_below,
                               [&](std::span<const std::int32_t> ids, std::uint64_t bytes) {
                                 use({.ids = ids, .bytes_read = bytes});
                               });
          }};
}

TextSource::TextSource(const TextDataConfig& config, std::optional<std::int64_t> ids_below)
    : TextSource(config, Tokenizer::from_file(config.tokenizer), ids_below) {}

TextSource::TextSource(const TextDataConfig& config, const Tokenizer& tokenizer,
                       std::optional<std::int64_t> ids_below)
    : corpus_(read_tokens(config, tokenizer, ids_below)), samples_(corpus_, options_of(config, tokenizer)) {}

}  // namespace d9d
