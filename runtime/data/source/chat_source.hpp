#pragma once
// Conversations, tokenised by this process and kept in memory, or mapped where data.cache has them.
// Only tokens that the model is to say count in the loss. Samples are those of a CorpusSource with
// a conversation as a document.

#include "runtime/data/config/chat_data_config.hpp"
#include "runtime/data/source/corpus_source.hpp"
#include "runtime/data/source/text/token_recipe.hpp"
#include "runtime/tokenizer/tokenizer.hpp"

namespace d9d {

// `tokenizer` must outlive the recipe.
TokenRecipe chat_recipe(const ChatDataConfig& config, const Tokenizer& tokenizer,
                        const CorpusWishes& wishes = {});

class ChatSource final : public CorpusSource {
 public:
  // Reads and tokenises everything. Input errors: those of TextSource and of read_chat_row(),
  // and data of which no token counts. `config.seed` chooses the shuffled orders; a missing
  // seed counts as 0.
  explicit ChatSource(const ChatDataConfig& config, std::optional<std::int64_t> ids_below = {},
                      const SampleForm& form = {}, const CorpusWishes& wishes = {});
  // The ids were checked when they were made.
  std::optional<Scanned> scan_ids(const ScanLimits& /*limits*/) const override { return std::nullopt; }

 private:
  ChatSource(const ChatDataConfig& config, const Tokenizer& tokenizer, std::optional<std::int64_t> ids_below,
             const SampleForm& form, const CorpusWishes& wishes);
};

}  // namespace d9d
