#pragma once
// The `decoder` of tokenizer.json: tokens back to text. null (tokens joined by spaces), ByteLevel,
// ByteFallback, Metaspace, WordPiece, BPEDecoder, Fuse, Replace, Strip and a Sequence of these. Immutable.

#include <string>
#include <variant>
#include <vector>

#include "runtime/tokenizer/characters/regex.hpp"
#include "runtime/tokenizer/codec/json_section.hpp"

namespace d9d {

class Decoder {
 public:
  Decoder() = default;
  static Decoder from_json(const JsonSection& section);

  // Turns tokens into text. Bytes that are not UTF-8 become U+FFFD.
  std::string decode(std::vector<std::string> tokens) const;

 private:
  struct ByteLevel {};
  struct ByteFallback {};
  struct Fuse {};
  struct Replace {
    Regex pattern;
    std::string content;
  };
  struct Strip {
    std::string character;
    std::int64_t at_begin;  // the largest number of characters to strip
    std::int64_t at_end;
  };
  struct Metaspace {
    std::string replacement;
    bool drops_first;  // of the first token
  };
  struct WordPiece {
    std::string prefix;
    bool cleanup;
  };
  struct WordEnd {
    std::string suffix;
  };
  using Step = std::variant<ByteLevel, ByteFallback, Fuse, Replace, Strip, Metaspace, WordPiece, WordEnd>;

  void add(const JsonSection& section);
  static void run(ByteLevel, std::vector<std::string>& tokens);
  static void run(ByteFallback, std::vector<std::string>& tokens);
  static void run(Fuse, std::vector<std::string>& tokens);
  static void run(const Replace& step, std::vector<std::string>& tokens);
  static void run(const Strip& step, std::vector<std::string>& tokens);
  static void run(const Metaspace& step, std::vector<std::string>& tokens);
  static void run(const WordPiece& step, std::vector<std::string>& tokens);
  static void run(const WordEnd& step, std::vector<std::string>& tokens);

  std::vector<Step> steps_;
  bool given_ = false;
};

}  // namespace d9d
