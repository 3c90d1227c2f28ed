#pragma once
// Conversations, tokenised here and kept in memory, or mapped where data.cache has them; of their tokens only
// those count in the loss that the model is to say. Samples of a CorpusSource, a conversation a document.

#include "runtime/data/config/chat_data_config.hpp"
#include "runtime/data/source/corpus_source.hpp"
#include "runtime/data/source/token_recipe.hpp"
#include "runtime/tokenizer/tokenizer.hpp"

namespace d9d {

// `tokenizer` outlives the recipe.
TokenRecipe chat_recipe(const ChatDataConfig& config, const Tokenizer& tokenizer,
                        const CorpusWishes& wishes = {});

class ChatSource final : public SampleSource {
 public:
  // Reads and tokenises everything. Input errors: those of TextSource and of read_chat_row(), and data of which
  // no token counts. `config.seed` chooses the shuffled orders; none counts as 0.
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
