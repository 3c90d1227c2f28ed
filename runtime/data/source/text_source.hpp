#pragma once
// Tokenises text files: a CorpusSource of all documents, each followed by the eos token if one is
// named. Token ids are mapped where data.cache has them, else made by this process and kept in
// memory (2 bytes each for vocabularies up to 65536, else 4). The text is not kept.

#include "runtime/data/config/text_data_config.hpp"
#include "runtime/data/source/corpus_source.hpp"
#include "runtime/data/source/text/token_recipe.hpp"
#include "runtime/tokenizer/tokenizer.hpp"

namespace d9d {

// `tokenizer` must outlive the recipe.
TokenRecipe text_recipe(const TextDataConfig& config, const Tokenizer& tokenizer,
                        const CorpusWishes& wishes = {});

class TextSource final : public CorpusSource {
 public:
  // Reads and tokenises everything. Input errors: a file that is missing or not UTF-8, an eos token that the
  // tokenizer does not have, a text too short for one sample, a token whose id is not below
  // `ids_below`, with its file and line.
  // `config.seed` chooses the shuffled orders; none counts as 0 (build_source() fills it in).
  explicit TextSource(const TextDataConfig& config, std::optional<std::int64_t> ids_below = {},
                      const SampleForm& form = {}, const CorpusWishes& wishes = {});
  // The ids were checked when they were made.
  std::optional<Scanned> scan_ids(const ScanLimits& /*limits*/) const override { return std::nullopt; }

 private:
  TextSource(const TextDataConfig& config, const Tokenizer& tokenizer, std::optional<std::int64_t> ids_below,
             const SampleForm& form, const CorpusWishes& wishes);
};

}  // namespace d9d
