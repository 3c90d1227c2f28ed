#pragma once
// Tokens and their ids, both ways.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "runtime/tokenizer/codec/json_section.hpp"

namespace d9d {

class Vocabulary {
 public:
  // {"token": id, ...}; ids are whole numbers from 0 to token_ids_max - 1 (input error otherwise).
  static Vocabulary from_json(const JsonSection& section);

  // Adds a token. If it comes twice, the id added last counts, as in the library.
  void add(const std::string& token, std::int32_t id);

  std::optional<std::int32_t> id_of(std::string_view token) const;
  const std::vector<std::optional<std::string>>& tokens() const { return tokens_; }  // by id

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  std::unordered_map<std::string, std::int32_t, Hash, std::equal_to<>> ids_;
  std::vector<std::optional<std::string>> tokens_;
};

}  // namespace d9d
