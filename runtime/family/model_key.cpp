#include "runtime/family/model_key.hpp"

#include <algorithm>

#include "runtime/base/error.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/family/key_type.hpp"

namespace d9d {

using nlohmann::json;

constinit const KeyType any_key = key_of<json>();
constinit const KeyType flag_key = key_of<bool>();
constinit const KeyType integer_key = key_of<std::int64_t>();
constinit const KeyType number_key = key_of<double>();
constinit const KeyType integers_key = key_of<std::vector<std::int64_t>>();
constinit const KeyType texts_key = key_of<std::vector<std::string>>();
constinit const KeyType sizes_key = key_of<std::map<std::string, std::int64_t>>();

ModelKey& row(ModelKeys& keys, std::string_view name) {
  const auto found = std::ranges::find(keys, name, [](const ModelKey& key) { return key.key.name; });
  D9D_CHECK(found != keys.end(), "a model has no key {}", name);
  return *found;
}

void append(ModelKeys& keys, ModelKeys more) {
  std::ranges::move(more, std::back_inserter(keys));
}

void read_model(const JsonReader& in, FamilyModel& model) {
  for (const ModelKey& key : model.keys())
    if (key.refuse) key.refuse(in);
  for (const ModelKey& key : model.keys())
    if (key.read) key.read(in, model);
  model.settle();
  model.validate(in.where());
}

std::string FamilyModel::config_json() const {
  json out;
  for (const ModelKey& key : keys())
    if (key.write) key.write(*this, out);
  return json_text(out, 2) + "\n";
}

}  // namespace d9d
