#pragma once
// The `normalizer` of tokenizer.json: NFC, NFD, NFKC, NFKD, Lowercase, Prepend, Replace, Strip and a Sequence
// of these. Unicode tables are those of the installed utf8proc. Immutable; each thread brings its scratch.

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "runtime/data/bpe/json_section.hpp"
#include "runtime/data/bpe/regex.hpp"

namespace d9d {

struct NormalizerScratch {
  std::string current;
  std::string next;
};

class Normalizer {
 public:
  Normalizer() = default;  // leaves text as it is
  static Normalizer from_json(const JsonSection& section);

  // The normalised text: `text` itself where nothing changes,
  // else a view into `scratch` that lives until its next use.
  std::string_view apply(std::string_view text, NormalizerScratch& scratch, RegexScratch& regex) const;

 private:
  enum class Form { nfc, nfd, nfkc, nfkd };
  struct Lowercase {};
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
  using Step = std::variant<Form, Lowercase, Prepend, Replace, Strip>;

  void add(const JsonSection& section);
  static void run(Form form, std::string_view text, std::string& out, RegexScratch&);
  static void run(Lowercase, std::string_view text, std::string& out, RegexScratch&);
  static void run(const Prepend& step, std::string_view text, std::string& out, RegexScratch&);
  static void run(const Replace& step, std::string_view text, std::string& out, RegexScratch& regex);
  static void run(Strip step, std::string_view text, std::string& out, RegexScratch&);

  std::vector<Step> steps_;
  bool keeps_ascii_ = true;  // all steps leave pure ASCII unchanged
};

}  // namespace d9d
