#include "runtime/data/source/tokenized_text.hpp"

#include "runtime/base/error.hpp"
#include "runtime/data/source/documents.hpp"

namespace d9d {

std::optional<std::int32_t> eos_of(const TextDataConfig& config, const Tokenizer& tokenizer) {
  if (!config.eos_token) return std::nullopt;
  const auto eos = tokenizer.token_id(*config.eos_token);
  D9D_REQUIRE(eos, "data.eos_token = \"{}\" is not a token of {}", *config.eos_token, config.tokenizer);
  return eos;
}

void require_ids_below(const Tokenizer& tokenizer, const std::string& path,
                       std::optional<std::int64_t> ids_below) {
  const std::int64_t size = tokenizer.vocab_size();
  D9D_REQUIRE(
      !ids_below || size <= *ids_below,
      "data.tokenizer: the ids of {} go up to {}, but model_provider.model.vocab_size is {}; raise it "
      "to at least {}",
      path, size - 1, *ids_below, size);
}

void tokenize_documents(const TextDataConfig& config, const Tokenizer& tokenizer, const UseTokens& use) {
  const std::optional<std::int32_t> eos = eos_of(config, tokenizer);
  const auto scratch = tokenizer.make_scratch();
  std::vector<std::int32_t> ids;
  for_each_document(config, [&](const Document& document) {
    ids.clear();
    try {
      tokenizer.encode(document.text, false, *scratch, ids);
    } catch (const Error& error) {
      throw Error(error.kind(), error.what(), document.where);
    }
    if (eos) ids.push_back(*eos);
    use(ids, document.bytes_read);
  });
}

}  // namespace d9d
