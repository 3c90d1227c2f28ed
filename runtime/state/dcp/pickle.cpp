#include "runtime/state/dcp/pickle.hpp"

#include "runtime/base/error.hpp"

namespace d9d {

void Pickle::refuse(const std::string& why) const {
  throw Error(ErrorKind::input, fmt::format("{}: {}", where_, why));
}

std::int64_t Pickle::integer(const PickleValue& value, std::string_view what) const {
  if (value.kind != PickleValue::Kind::integer) refuse(fmt::format("{} is no integer", what));
  return value.integer;
}

const std::string& Pickle::text(const PickleValue& value, std::string_view what) const {
  if (value.kind != PickleValue::Kind::text) refuse(fmt::format("{} is no text", what));
  return value.text;
}

const std::vector<const PickleValue*>& Pickle::items(const PickleValue& value, std::string_view what) const {
  const bool is_size = value.is_object_of("torch.Size") && value.items.size() == 1;
  const PickleValue& list = is_size ? *value.items.front() : value;
  if (list.kind != PickleValue::Kind::sequence) refuse(fmt::format("{} is no list", what));
  return list.items;
}

std::vector<std::int64_t> Pickle::integers(const PickleValue& value, std::string_view what) const {
  std::vector<std::int64_t> found;
  for (const PickleValue* item : items(value, what)) found.push_back(integer(*item, what));
  return found;
}

const PickleValue* Pickle::member_if(const PickleValue& object, std::string_view name) const {
  if (object.kind != PickleValue::Kind::object || object.state == nullptr) return nullptr;
  const auto& pairs = object.state->pairs;
  for (std::size_t i = 0; i + 1 < pairs.size(); i += 2)
    if (pairs[i]->kind == PickleValue::Kind::text && pairs[i]->text == name) return pairs[i + 1];
  return nullptr;
}

const PickleValue& Pickle::member(const PickleValue& object, std::string_view name) const {
  const PickleValue* found = member_if(object, name);
  if (found == nullptr) refuse(fmt::format("a member {} is missing", name));
  return *found;
}

}  // namespace d9d
