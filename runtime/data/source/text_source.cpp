#include "runtime/data/source/text_source.hpp"

#include "runtime/base/error.hpp"
#include "runtime/base/log.hpp"
#include "runtime/data/corpus/memory_corpus.hpp"
#include "runtime/data/source/token_cache.hpp"
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
  if (auto cached = find_tokens(config)) return cached;
  if (config.cache) {
    log::warn(
        "data.cache: {} has no tokens of these files, so they are tokenised now and kept in memory; "
        "`d9d-node data prepare` makes them once for all runs",
        *config.cache);
  }
  auto corpus = std::make_shared<MemoryCorpus>(tokenizer.vocab_size());
  tokenize_documents(config, tokenizer, [&](std::span<const std::int32_t> ids, std::uint64_t /*bytes*/) {
    corpus->add_document(ids);
  });
  return corpus;
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

TextSource::TextSource(const TextDataConfig& config, std::optional<std::int64_t> ids_below)
    : TextSource(config, open_tokenizer(config, ids_below)) {}

TextSource::TextSource(const TextDataConfig& config, const Tokenizer& tokenizer)
    : corpus_(read_tokens(config, tokenizer)), samples_(corpus_, options_of(config, tokenizer)) {}

}  // namespace d9d
