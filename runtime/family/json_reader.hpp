#pragma once
// Typed access to the keys of a JSON object: a key that is absent or null takes the default, a value of
// another type is an input error that names file, key and value. Internal to runtime/family.

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace d9d {

class JsonReader {
 public:
  // Both outlive the reader.
  JsonReader(const nlohmann::json& object, const std::string& where) : object_(object), where_(where) {}

  const std::string& where() const { return where_; }
  bool has(const char* key) const { return object_.contains(key); }
  // Null when the key is absent or its value null.
  const nlohmann::json* find(const char* key) const;

  std::int64_t integer(const char* key, std::int64_t absent) const;
  // `absent` when the key is not there; none when it is null.
  std::optional<std::int64_t> integer_or_none(const char* key, std::optional<std::int64_t> absent) const;
  std::vector<std::int64_t> integers(const char* key) const;  // empty when absent
  double number(const char* key, double absent) const;
  std::optional<double> number_or_none(const char* key) const;
  std::vector<double> numbers(const char* key) const;  // empty when absent
  bool flag(const char* key, bool absent) const;
  std::string text(const char* key, const std::string& absent) const;

  // The one of them that the type of `absent` asks for.
  std::int64_t value(const char* key, std::int64_t absent) const { return integer(key, absent); }
  std::optional<std::int64_t> value(const char* key, std::optional<std::int64_t> absent) const {
    return integer_or_none(key, absent);
  }
  std::vector<std::int64_t> value(const char* key, const std::vector<std::int64_t>& absent) const {
    return find(key) == nullptr ? absent : integers(key);
  }
  double value(const char* key, double absent) const { return number(key, absent); }
  bool value(const char* key, bool absent) const { return flag(key, absent); }

 private:
  [[noreturn]] void wrong(const char* key, const nlohmann::json& value, const char* expected) const;
  std::int64_t integer_from(const char* key, const nlohmann::json& value) const;

  const nlohmann::json& object_;
  const std::string& where_;
};

}  // namespace d9d
