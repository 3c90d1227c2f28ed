#include "runtime/data/chat/counted_tokens.hpp"

namespace d9d {

CountedTokens counted_tokens(const Tokenizer& tokenizer, std::string_view text,
                             std::span<const ByteRange> parts, Tokenizer::Scratch& scratch,
                             EncodedText& encoded) {
  tokenizer.encode_with_spans(text, false, scratch, encoded);
  CountedTokens out;
  out.ids = encoded.ids;
  out.counted.reserve(out.ids.size());
  std::size_t part = 0;
  for (const TokenSpan& span : encoded.spans) {
    while (part < parts.size() && parts[part].second <= span.begin) ++part;
    out.counted.push_back(part < parts.size() && parts[part].first < span.end && span.begin < span.end);
  }
  return out;
}

bool marks_begins(const Tokenizer& tokenizer) {
  const auto ids = tokenizer.encode("a", false);
  return !ids.empty() && tokenizer.token_text(ids.front()).value_or("a") != "a" &&
         tokenizer.encode("a", false) != tokenizer.encode("\na", false);
}

}  // namespace d9d
