#pragma once
// The section `model` of tokenizer.json: words to ids. It has one class for each kind: BpeModel,
// UnigramModel, WordPieceModel, WordLevelModel. Immutable and shared between threads; each
// thread brings its scratch.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/error.hpp"
#include "runtime/tokenizer/codec/json_section.hpp"
#include "runtime/tokenizer/model/vocabulary.hpp"

namespace d9d {

// Working memory of one thread, for a model of any kind.
struct ModelScratch {
  struct Symbol {
    std::int32_t id;
    std::int32_t previous;  // -1: none
    std::int32_t next;      // -1: none
    std::uint32_t rank;     // of the merge with `next` (short words only)
  };
  struct Candidate {
    std::uint32_t rank;
    std::int32_t position;
    std::int32_t merged;
  };
  struct PathEnd {  // the best way that ends at a place in the word
    std::int32_t id = 0;
    std::int32_t begin = -1;  // of the last token; -1: no way leads here yet
    double score = 0;
  };
  std::vector<Symbol> symbols;
  std::vector<Candidate> heap;
  std::vector<PathEnd> paths;
  std::string text;
  std::vector<std::uint32_t> unit_begins;  // of the symbols before merges; only with `begins`
  // If set, receives the byte of the word at which each token begins.
  std::vector<std::uint32_t>* begins = nullptr;
};

class TokenModel {
 public:
  virtual ~TokenModel() = default;
  TokenModel(const TokenModel&) = delete;
  TokenModel& operator=(const TokenModel&) = delete;

  // Appends the ids of one word, which must be well-formed UTF-8 and not empty. Input error, as in
  // the library: the word needs the unknown token and the model has none.
  virtual void encode(std::string_view word, ModelScratch& scratch, std::vector<std::int32_t>& ids) const = 0;

  const Vocabulary& vocabulary() const { return vocabulary_; }

 protected:
  explicit TokenModel(Vocabulary vocabulary) : vocabulary_(std::move(vocabulary)) {}
  // Returns the id of the token named under `key`. Input error: the vocabulary lacks it.
  std::int32_t required_id(const JsonSection& section, std::string_view key,
                           const std::string& otherwise) const {
    const std::string token = section.has(key) ? section.text(key) : otherwise;
    const auto id = vocabulary_.id_of(token);
    D9D_REQUIRE(id, "{}.{} \"{}\" is not in the vocabulary", section.path(), key, token);
    return *id;
  }

  const Vocabulary vocabulary_;
};

}  // namespace d9d
