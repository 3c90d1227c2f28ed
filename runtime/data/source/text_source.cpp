#include "runtime/data/source/text_source.hpp"

#include "runtime/base/config/decode.hpp"
#include "runtime/base/error.hpp"
#include "runtime/data/source/text/documents.hpp"
#include "runtime/data/source/text/token_cache.hpp"
#include "runtime/data/source/text/tokenized_text.hpp"

namespace d9d {
namespace {

std::shared_ptr<const TokenCorpus> read_tokens(const TextDataConfig& config, const Tokenizer& tokenizer,
                                               std::optional<std::int64_t> ids_below,
                                               const CorpusWishes& wishes) {
  D9D_REQUIRE(config.sequence_length >= 1, "data.sequence_length = {}, expected at least 1",
              config.sequence_length);
  return corpus_of(checked_recipe(text_recipe(config, tokenizer, wishes), tokenizer, ids_below));
}

CorpusSourceOptions options_of(const TextDataConfig& config, const Tokenizer& tokenizer,
                               const SampleForm& form) {
  return {.sequence_length = config.sequence_length,
          .samples = config.samples,
          .shuffle = config.shuffle,
          .seed = static_cast<std::uint64_t>(config.seed.value_or(0)),
          .pad_id = eos_of(config, tokenizer).value_or(0),
          .vocab_size = tokenizer.vocab_size(),
          .form = form};
}

}  // namespace

TokenRecipe text_recipe(const TextDataConfig& given, const Tokenizer& tokenizer, const CorpusWishes& wishes) {
  const TextDataConfig config = with_found_files(given);
  const config::Json all = config::encode(config);
  config::Json keys = {{"tokenizer", digest_of_tokenizer(config.tokenizer)}};
  for (const char* key : {"format", "text_field", "document", "eos_token"}) keys[key] = all.at(key);
  // The names of caches made before there was the key stay.
  if (config.bos_token) keys["bos_token"] = *config.bos_token;
  return {.cache = config.cache,
          .files = config.files,
          .keys = std::move(keys),
          .vocab_size = tokenizer.vocab_size(),
          .rows = row_choice_of(config),
          .wishes = wishes,
          .make = [config, &tokenizer](const UseMadeDocument& use) {
            tokenize_documents(config, tokenizer, [&](const TokenizedDocument& document) {
              use({.ids = document.ids, .bytes_read = document.bytes_read, .place = document.place});
            });
          }};
}

TextSource::TextSource(const TextDataConfig& config, std::optional<std::int64_t> ids_below,
                       const SampleForm& form, const CorpusWishes& wishes)
    : TextSource(config, Tokenizer::from_file(config.tokenizer), ids_below, form, wishes) {}

TextSource::TextSource(const TextDataConfig& config, const Tokenizer& tokenizer,
                       std::optional<std::int64_t> ids_below, const SampleForm& form,
                       const CorpusWishes& wishes)
    : CorpusSource(read_tokens(config, tokenizer, ids_below, wishes), options_of(config, tokenizer, form)) {}

}  // namespace d9d
