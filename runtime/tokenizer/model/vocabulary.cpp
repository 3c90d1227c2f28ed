#include "runtime/tokenizer/model/vocabulary.hpp"

#include "runtime/base/error.hpp"
#include "runtime/base/json_text.hpp"

namespace d9d {

Vocabulary Vocabulary::from_json(const JsonSection& section) {
  D9D_REQUIRE(section.json().is_object(), "{} is not an object of ids by token", section.path());
  Vocabulary vocabulary;
  vocabulary.ids_.reserve(section.json().size());
  for (const auto& [token, id] : section.json().items()) {
    const bool fits =
        id.is_number_integer() && id.get<std::int64_t>() >= 0 && id.get<std::int64_t>() < token_ids_max;
    D9D_REQUIRE(fits, "{}: the id of \"{}\" is {}, expected a whole number from 0 to {}", section.path(),
                token, json_text(id), token_ids_max - 1);
    vocabulary.add(token, id.get<std::int32_t>());
  }
  return vocabulary;
}

void Vocabulary::add(const std::string& token, std::int32_t id) {
  ids_.insert_or_assign(token, id);
  if (static_cast<std::size_t>(id) >= tokens_.size()) tokens_.resize(static_cast<std::size_t>(id) + 1);
  tokens_[static_cast<std::size_t>(id)] = token;
}

std::optional<std::int32_t> Vocabulary::id_of(std::string_view token) const {
  const auto found = ids_.find(token);
  if (found == ids_.end()) return std::nullopt;
  return found->second;
}

}  // namespace d9d
