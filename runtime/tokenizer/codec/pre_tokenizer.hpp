#pragma once
// The `pre_tokenizer` of tokenizer.json: cuts text into words that the model encodes one by one. ByteLevel
// (only as the last), Metaspace, BertPreTokenizer, Split, Digits, Whitespace, WhitespaceSplit, Punctuation,
// CharDelimiterSplit and Sequence. Immutable; each thread brings its scratch.

#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "runtime/tokenizer/characters/regex.hpp"
#include "runtime/tokenizer/codec/json_section.hpp"

namespace d9d {

// A word that is no part of the text, because a step has changed it.
struct MadeWord {
  std::string text;
  std::vector<const char*> from;  // of each byte, the byte that it was made of; only where words are traced
};

struct PreTokenizerScratch {
  std::vector<std::string_view> words;
  std::vector<std::string_view> next;
  std::deque<MadeWord> made;
  bool traced = false;                            // set it before split() to use source_of()
  std::map<const char*, const MadeWord*> traces;  // keyed by the begin of the made text
  const char* text_begin = nullptr;  // a word that begins here is the first of the whole text; null: none is

  // Returns the byte of the original text from which a byte of one of the words was made.
  const char* source_of(const char* byte) const;
  void note_made();  // the last of `made` is complete
};

class PreTokenizer {
 public:
  PreTokenizer() = default;  // one text, one word
  static PreTokenizer from_json(const JsonSection& section);

  // Returns the words of `text`, none of them empty. The views point into `text` or `scratch` and
  // live until the next use of either. `at_begin`: `text` is the begin of the encoded text, and
  // nothing was left out before it.
  const std::vector<std::string_view>& split(std::string_view text, bool at_begin,
                                             PreTokenizerScratch& scratch, RegexScratch& regex) const;

  // Whether words are bytes in the byte-level alphabet, not characters.
  bool byte_level() const { return byte_level_; }

 private:
  // What happens to a match (or, inverted, to the text between matches).
  enum class Behavior { isolated, removed, merged_with_previous, merged_with_next, contiguous };
  struct Split {
    Regex pattern;
    Behavior behavior;
    bool invert;
  };
  struct PrefixSpace {};
  enum class Prepend { first, never, always };
  struct Metaspace {
    std::string replacement;
    Prepend prepend;
    bool split;
  };
  using Step = std::variant<Split, PrefixSpace, Metaspace>;

  void add(const JsonSection& section);
  void add_byte_level(const JsonSection& section);
  void add_metaspace(const JsonSection& section);
  static Behavior behavior_of(const JsonSection& section);
  static void run(const Split& step, std::string_view word, PreTokenizerScratch& scratch,
                  RegexScratch& regex);
  static void run(PrefixSpace, std::string_view word, PreTokenizerScratch& scratch, RegexScratch&);
  static void run(const Metaspace& step, std::string_view word, PreTokenizerScratch& scratch, RegexScratch&);

  std::vector<Step> steps_;
  bool byte_level_ = false;
};

}  // namespace d9d
