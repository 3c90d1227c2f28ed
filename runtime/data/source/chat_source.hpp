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

class ChatSource final : public SampleSource {
 public:
  // Reads and tokenises everything. Input errors: those of TextSource and of read_chat_row(),
  // and data of which no token counts. `config.seed` chooses the shuffled orders; a missing
  // seed counts as 0.
  explicit ChatSource(const ChatDataConfig& config, std::optional<std::int64_t> ids_below = {},
                      RestOfRows rest = RestOfRows::left_out, const CorpusWishes& wishes = {});
  std::optional<std::uint64_t> num_samples() const override { return samples_.num_samples(); }
  std::int64_t sequence_length() const override { return samples_.sequence_length(); }
  std::optional<std::int64_t> vocab_size() const override { return samples_.vocab_size(); }
  Sample at(std::uint64_t index) const override { return samples_.at(index); }
  std::optional<std::int64_t> sort_key(std::uint64_t index) const override {
    return samples_.sort_key(index);
  }
  std::vector<RowPlace> places_of(std::uint64_t index) const override { return samples_.places_of(index); }

 private:
  ChatSource(const ChatDataConfig& config, const Tokenizer& tokenizer, std::optional<std::int64_t> ids_below,
             RestOfRows rest, const CorpusWishes& wishes);

  const CorpusSource samples_;
};

}  // namespace d9d
