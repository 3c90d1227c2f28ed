#include "runtime/tokenizer/codec/decoder.hpp"

#include <array>
#include <charconv>

#include "runtime/base/error.hpp"
#include "runtime/tokenizer/characters/byte_alphabet.hpp"
#include "runtime/tokenizer/characters/utf8.hpp"

namespace d9d {
namespace {

constexpr std::string_view known_decoders =
    "null, ByteLevel, ByteFallback, Metaspace, WordPiece, BPEDecoder, Fuse, Replace, Strip, Sequence";

void replace_all(std::string& text, std::string_view what, std::string_view by) {
  std::string out;
  std::size_t done = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, done)) {
    out.append(text, done, at - done).append(by);
    done = at + what.size();
  }
  if (done > 0) text = out.append(text, done);
}

// English spaces before signs and contractions, in the library's order.
void clean_up(std::string& text) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 11> replacements{{{" .", "."},
                                                                                        {" ?", "?"},
                                                                                        {" !", "!"},
                                                                                        {" ,", ","},
                                                                                        {" ' ", "'"},
                                                                                        {" n't", "n't"},
                                                                                        {" 'm", "'m"},
                                                                                        {" do not", " don't"},
                                                                                        {" 's", "'s"},
                                                                                        {" 've", "'ve"},
                                                                                        {" 're", "'re"}}};
  for (const auto& [what, by] : replacements) replace_all(text, what, by);
}

std::string join(const std::vector<std::string>& tokens, std::string_view between) {
  std::string out;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (i > 0) out += between;
    out += tokens[i];
  }
  return out;
}

// The byte of a token <0x00> to <0xFF>, or -1.
int byte_of(const std::string& token) {
  if (token.size() != 6 || !token.starts_with("<0x") || token.back() != '>') return -1;
  int byte = -1;
  const auto result = std::from_chars(token.data() + 3, token.data() + 5, byte, 16);
  return result.ptr == token.data() + 5 ? byte : -1;
}

}  // namespace

Decoder Decoder::from_json(const JsonSection& section) {
  Decoder decoder;
  decoder.given_ = !section.is_null();
  if (decoder.given_) decoder.add(section);
  return decoder;
}

void Decoder::add(const JsonSection& section) {
  const std::string type = section.text("type");
  if (type == "Sequence") {
    for (const JsonSection& inner : section.at("decoders").items()) add(inner);
  } else if (type == "ByteLevel") {
    steps_.emplace_back(ByteLevel{});
  } else if (type == "ByteFallback") {
    steps_.emplace_back(ByteFallback{});
  } else if (type == "Fuse") {
    steps_.emplace_back(Fuse{});
  } else if (type == "Replace") {
    steps_.emplace_back(Replace{Regex::from_json(section.at("pattern")), section.text("content")});
  } else if (type == "Strip") {
    steps_.emplace_back(
        Strip{section.text("content"), section.at("start").integer(), section.at("stop").integer()});
  } else if (type == "Metaspace") {
    const bool never = section.has("prepend_scheme") && section.text("prepend_scheme") == "never";
    steps_.emplace_back(
        Metaspace{section.text("replacement"), section.flag("add_prefix_space", true) && !never});
  } else if (type == "WordPiece") {
    steps_.emplace_back(WordPiece{section.text("prefix"), section.flag("cleanup", true)});
  } else if (type == "BPEDecoder") {
    steps_.emplace_back(WordEnd{section.text("suffix")});
  } else {
    section.refuse(fmt::format("the decoder {}", type), known_decoders);
  }
}

std::string Decoder::decode(std::vector<std::string> tokens) const {
  if (!given_) return join(tokens, " ");
  for (const Step& step : steps_) {
    std::visit([&](const auto& which) { run(which, tokens); }, step);
  }
  return join(tokens, "");
}

void Decoder::run(ByteLevel, std::vector<std::string>& tokens) {
  std::string bytes;
  for (const std::string& token : tokens) bytes += bytes_of_token(token).value_or(token);
  tokens = {to_valid_utf8(bytes)};
}

void Decoder::run(ByteFallback, std::vector<std::string>& tokens) {
  std::vector<std::string> out;
  std::string pending;
  const auto flush = [&] {
    if (first_invalid_utf8(pending) == pending.size()) {
      if (!pending.empty()) out.push_back(pending);
    } else {
      out.insert(out.end(), pending.size(), "\xEF\xBF\xBD");
    }
    pending.clear();
  };
  for (std::string& token : tokens) {
    if (const int byte = byte_of(token); byte >= 0) {
      pending.push_back(static_cast<char>(byte));
      continue;
    }
    flush();
    out.push_back(std::move(token));
  }
  flush();
  tokens = std::move(out);
}

void Decoder::run(Fuse, std::vector<std::string>& tokens) {
  tokens = {join(tokens, "")};
}

void Decoder::run(const Replace& step, std::vector<std::string>& tokens) {
  RegexScratch scratch;
  for (std::string& token : tokens) {
    std::string out;
    std::size_t done = 0;
    for_each_match(step.pattern, token, scratch, [&](TextSpan match) {
      out.append(token, done, match.begin - done).append(step.content);
      done = match.end;
    });
    token = out.append(token, done);
  }
}

void Decoder::run(const Strip& step, std::vector<std::string>& tokens) {
  for (std::string& token : tokens) {
    std::string_view rest = token;
    for (std::int64_t i = 0; i < step.at_begin && rest.starts_with(step.character); ++i) {
      rest.remove_prefix(step.character.size());
    }
    for (std::int64_t i = 0; i < step.at_end && rest.ends_with(step.character); ++i) {
      rest.remove_suffix(step.character.size());
    }
    token = std::string(rest);
  }
}

void Decoder::run(const Metaspace& step, std::vector<std::string>& tokens) {
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    replace_all(tokens[i], step.replacement, i == 0 && step.drops_first ? "" : " ");
  }
}

void Decoder::run(const WordPiece& step, std::vector<std::string>& tokens) {
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (i > 0) {
      const bool goes_on = tokens[i].starts_with(step.prefix);
      tokens[i] = goes_on ? tokens[i].substr(step.prefix.size()) : " " + tokens[i];
    }
    if (step.cleanup) clean_up(tokens[i]);
  }
}

void Decoder::run(const WordEnd& step, std::vector<std::string>& tokens) {
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    replace_all(tokens[i], step.suffix, i + 1 == tokens.size() ? "" : " ");
  }
}

}  // namespace d9d
