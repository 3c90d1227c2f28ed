#pragma once
// The `normalizer` of tokenizer.json: NFC, NFD, NFKC, NFKD, Lowercase, StripAccents, Strip, Prepend, Replace,
// Nmt, BertNormalizer, Precompiled and a Sequence of these. Immutable; each thread brings its scratch.

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "runtime/tokenizer/characters/character_map.hpp"
#include "runtime/tokenizer/characters/regex.hpp"
#include "runtime/tokenizer/characters/text_filter.hpp"
#include "runtime/tokenizer/codec/json_section.hpp"

namespace d9d {

struct NormalizerScratch {
  std::string current;
  std::string next;
};

struct NormalizedText {
  std::string_view text;
  // Whether the first character was made of the first character of the original text.
  bool begins_at_begin = true;
};

class Normalizer {
 public:
  Normalizer() = default;  // leaves text as it is
  static Normalizer from_json(const JsonSection& section);

  // Returns the normalised text: `text` itself if nothing changes, else a view into `scratch` that
  // lives until its next use.
  NormalizedText apply(std::string_view text, NormalizerScratch& scratch, RegexScratch& regex) const;
  // The same, and for each byte of the result the byte of `text` that it was made of (`from`;
  // empty if nothing changes).
  NormalizedText apply_traced(std::string_view text, NormalizerScratch& scratch, RegexScratch& regex,
                              std::vector<std::uint32_t>& from) const;

 private:
  enum class Form { nfc, nfd, nfkc, nfkd };
  struct Prepend {
    std::string text;
  };
  struct Replace {
    Regex pattern;
    std::string content;
  };
  struct Strip {
    bool left;
    bool right;
  };
  using Step = std::variant<Form, TextFilter, Prepend, Replace, Strip, CharacterMap>;

  void add(const JsonSection& section);
  bool add_plain(std::string_view type);
  void add_bert(const JsonSection& section);
  // Runs one step. `head` bytes of `text` were made of its first character; returns how many
  // bytes of `out` were.
  static std::size_t run(Form form, std::string_view text, std::size_t head, std::string& out, RegexScratch&);
  static std::size_t run(TextFilter filter, std::string_view text, std::size_t head, std::string& out,
                         RegexScratch&);
  static std::size_t run(const Prepend& step, std::string_view text, std::size_t head, std::string& out,
                         RegexScratch&);
  static std::size_t run(const Replace& step, std::string_view text, std::size_t head, std::string& out,
                         RegexScratch& regex);
  static std::size_t run(Strip step, std::string_view text, std::size_t head, std::string& out,
                         RegexScratch&);
  static std::size_t run(const CharacterMap& map, std::string_view text, std::size_t head, std::string& out,
                         RegexScratch&);

  // Updates `from` of the text before a step to that of the text after it, which has `size` bytes.
  using Trace = std::vector<std::uint32_t>;
  static void trace(Form form, std::string_view text, std::size_t size, RegexScratch&, Trace& from);
  static void trace(TextFilter filter, std::string_view text, std::size_t size, RegexScratch&, Trace& from);
  static void trace(const Prepend& step, std::string_view text, std::size_t size, RegexScratch&, Trace& from);
  static void trace(const Replace& step, std::string_view text, std::size_t size, RegexScratch& regex,
                    Trace& from);
  static void trace(Strip step, std::string_view text, std::size_t size, RegexScratch&, Trace& from);
  static void trace(const CharacterMap& map, std::string_view text, std::size_t size, RegexScratch&,
                    Trace& from);
  static void append_form(std::string_view text, Form form, std::string& out);

  std::vector<Step> steps_;
  bool keeps_ascii_ = true;  // all steps leave pure ASCII unchanged
};

}  // namespace d9d
