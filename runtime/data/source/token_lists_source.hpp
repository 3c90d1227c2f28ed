#pragma once
// Lists of token ids: each row is a document. Arrow files are mapped and read in place. The ids of
// other files are kept in memory, or mapped where data.cache has them. Padding that a row's
// attention mask marks is left out, so that a row padded on the left begins at position 0 too.
// Samples are those of a CorpusSource.

#include "runtime/data/config/token_lists_data_config.hpp"
#include "runtime/data/source/corpus_source.hpp"
#include "runtime/data/source/text/token_recipe.hpp"

namespace d9d {

// `ids_below`: the size of the model's vocabulary, where it is known.
TokenRecipe token_lists_recipe(const TokenListsDataConfig& config, std::optional<std::int64_t> ids_below = {},
                               const CorpusWishes& wishes = {});

class TokenListsSource final : public CorpusSource {
 public:
  // Input errors: those of the files (tables.hpp); ids that are negative or that the model does not
  // have (in mapped files: when they are read); labels that have another length than the ids, or a
  // value other than the id or -100.
  explicit TokenListsSource(const TokenListsDataConfig& config, std::optional<std::int64_t> ids_below = {},
                            const SampleForm& form = {}, const CorpusWishes& wishes = {});

 private:
};

}  // namespace d9d
