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
