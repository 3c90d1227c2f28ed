#include "runtime/data/source/prepare_part.hpp"

#include <type_traits>

#include "runtime/base/error.hpp"
#include "runtime/data/source/chat_source.hpp"
#include "runtime/data/source/text_source.hpp"
#include "runtime/data/source/token_lists_source.hpp"

namespace d9d {
namespace {

struct Prepare {
  const DataPart& part;
  const TokenProgress& progress;

  PreparedTokens operator()(const TextDataConfig& text) const {
    const Tokenizer tokenizer = Tokenizer::from_file(text.tokenizer);
    return with(text_recipe(text, tokenizer));
  }
  PreparedTokens operator()(const ChatDataConfig& chat) const {
    const Tokenizer tokenizer = Tokenizer::from_file(chat.tokenizer);
    return with(chat_recipe(chat, tokenizer));
  }
  PreparedTokens operator()(const TokenListsDataConfig& lists) const {
    return with(token_lists_recipe(lists));
  }
  PreparedTokens with(const TokenRecipe& recipe) const {
    D9D_REQUIRE(recipe.cache, "{}.cache is missing; name the folder in which the job finds its token ids",
                part.path);
    return prepare_tokens(recipe, progress);
  }
};

}  // namespace

std::optional<PreparedTokens> prepare_part(const DataPart& part, const TokenProgress& progress) {
  return std::visit(
      [&](const auto& source) -> std::optional<PreparedTokens> {
        if constexpr (requires { source.cache; }) {
          // Conversations are short; of texts and lists whoever prepares a job expects that they are made.
          constexpr bool is_chat = std::is_same_v<std::decay_t<decltype(source)>, ChatDataConfig>;
          if (source.cache || !is_chat) return Prepare{part, progress}(source);
        }
        return std::nullopt;
      },
      part.source);
}

}  // namespace d9d
