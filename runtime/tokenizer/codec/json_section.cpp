#include "runtime/tokenizer/codec/json_section.hpp"

#include "runtime/base/error.hpp"

namespace d9d {

bool JsonSection::has(std::string_view key) const {
  if (!value_->is_object()) return false;
  const auto found = value_->find(key);
  return found != value_->end() && !found->is_null();
}

JsonSection JsonSection::at(std::string_view key) const {
  // Sequences in sequences: readers call themselves, so a
  // damaged file must not send them as deep as it likes.
  D9D_REQUIRE(path_.size() < 1000, "sections are nested too deep at {}...", path_.substr(0, 60));
  D9D_REQUIRE(value_->is_object(), "{} is a {}, expected an object with \"{}\"", path_, value_->type_name(),
              key);
  const auto found = value_->find(key);
  D9D_REQUIRE(found != value_->end(), "{} has no \"{}\"", path_, key);
  return {*found, fmt::format("{}.{}", path_, key)};
}

std::vector<JsonSection> JsonSection::items() const {
  D9D_REQUIRE(value_->is_array(), "{} is a {}, expected a list", path_, value_->type_name());
  std::vector<JsonSection> out;
  out.reserve(value_->size());
  for (std::size_t i = 0; i < value_->size(); ++i)
    out.emplace_back((*value_)[i], fmt::format("{}[{}]", path_, i));
  return out;
}

std::string JsonSection::text() const {
  D9D_REQUIRE(value_->is_string(), "{} is a {}, expected text", path_, value_->type_name());
  return value_->get<std::string>();
}

bool JsonSection::flag(std::string_view key, bool otherwise) const {
  if (!has(key)) return otherwise;
  const JsonSection found = at(key);
  D9D_REQUIRE(found.value_->is_boolean(), "{} is a {}, expected true or false", found.path_,
              found.value_->type_name());
  return found.value_->get<bool>();
}

std::int64_t JsonSection::integer() const {
  D9D_REQUIRE(value_->is_number_integer(), "{} is a {}, expected a whole number", path_, value_->type_name());
  return value_->get<std::int64_t>();
}

void JsonSection::refuse(std::string_view what, std::string_view supported) const {
  throw Error(ErrorKind::input,
              fmt::format("{}: {} is not supported; supported: {}", path_, what, supported));
}

}  // namespace d9d
