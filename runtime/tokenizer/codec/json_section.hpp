#pragma once
// Reads tokenizer.json section by section. Every look-up knows its path, so an error
// says where to look.

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace d9d {

// Token ids must be below this. Tables are as long as the highest id, so a damaged file must
// not choose it freely.
constexpr std::int64_t token_ids_max = 1 << 22;

class JsonSection {
 public:
  JsonSection(const nlohmann::json& value, std::string path) : value_(&value), path_(std::move(path)) {}

  const std::string& path() const { return path_; }
  bool is_null() const { return value_->is_null(); }
  bool is_string() const { return value_->is_string(); }
  bool is_array() const { return value_->is_array(); }
  bool has(std::string_view key) const;  // the key is there and not null
  JsonSection at(std::string_view key) const;
  std::vector<JsonSection> items() const;  // of an array

  std::string text() const;
  std::string text(std::string_view key) const { return at(key).text(); }
  bool flag(std::string_view key, bool otherwise) const;
  std::int64_t integer() const;
  const nlohmann::json& json() const { return *value_; }

  // Throws an error: `what` at this path is not supported, `supported` is.
  [[noreturn]] void refuse(std::string_view what, std::string_view supported) const;

 private:
  const nlohmann::json* value_;
  std::string path_;
};

}  // namespace d9d
