#pragma once
// A key of a model, said once: what the job file may have there, and what it is in config.json. A family lists the
// keys of its model (FamilyModel::keys). The section `model_provider.model`, its reference, and the reading and the
// writing of config.json follow from the list. The default of a key is what a model has before it is read.

#include <functional>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "runtime/base/config/codec.hpp"
#include "runtime/base/config/keys.hpp"
#include "runtime/family/family_model.hpp"
#include "runtime/family/json_reader.hpp"

namespace d9d {

// The type of a key in the job file; null is always allowed.
struct KeyType {
  std::string (*name)() = nullptr;
  // Puts the value into `out`. False after reporting what is wrong with it.
  bool (*read)(config::Json& out, const config::Key& key, const config::Node& node, const config::Path& path,
               config::Problems& problems) = nullptr;
  // Adds the tables of a key that is a section; null for others.
  void (*tables)(config::Reference& reference, const std::string& path, std::string_view title) = nullptr;
};
extern const KeyType any_key, flag_key, integer_key, number_key, integers_key, texts_key, sizes_key;

struct ModelKey {
  config::Key key;
  const KeyType* type = &any_key;
  // Of config.json; each may be missing.
  // Input error for a value that the model does not compute. Called for all keys before one is read.
  std::function<void(const JsonReader& in)> refuse = {};
  std::function<void(const JsonReader& in, FamilyModel& model)> read = {};
  std::function<void(const FamilyModel& model, nlohmann::json& out)> write = {};
};

// The row of that name, which has to be there.
ModelKey& row(ModelKeys& keys, std::string_view name);
void append(ModelKeys& keys, ModelKeys more);
// Reads the keys, then calls settle() and validate(). Input errors begin with `in.where()`.
void read_model(const JsonReader& in, FamilyModel& model);

// What a member's type is in the job file and in config.json.
inline const KeyType* type_of(std::int64_t) {
  return &integer_key;
}
inline const KeyType* type_of(double) {
  return &number_key;
}
inline const KeyType* type_of(bool) {
  return &flag_key;
}
inline const KeyType* type_of(const std::optional<std::int64_t>&) {
  return &integer_key;
}
inline const KeyType* type_of(const std::vector<std::int64_t>&) {
  return &integers_key;
}
template <class Value>
nlohmann::json json_of(const Value& value) {
  return value;
}
template <class Value>
nlohmann::json json_of(const std::optional<Value>& value) {
  return value ? nlohmann::json(*value) : nlohmann::json(nullptr);
}

// A key that is a member of the model. `read(in, model)` gives its value where that takes more than the key.
template <class Value, class Model, class Read>
ModelKey member(const config::Key& key, Value Model::*place, Read read) {
  const std::string name(key.name);
  return {.key = key,
          .type = type_of(Value{}),
          .read =
              [place, read](const JsonReader& in, FamilyModel& model) {
                auto& of = static_cast<Model&>(model);
                of.*place = read(in, of);
              },
          .write =
              [place, name](const FamilyModel& model, nlohmann::json& out) {
                out[name] = json_of(static_cast<const Model&>(model).*place);
              }};
}
template <class Value, class Model>
ModelKey member(const config::Key& key, Value Model::*place) {
  return member(key, place, [place, name = std::string(key.name)](const JsonReader& in, const Model& model) {
    return in.value(name.c_str(), model.*place);
  });
}
// The same for a row that is there already.
template <class Value, class Model>
void set_member(ModelKeys& keys, std::string_view name, Value Model::*place) {
  ModelKey& of_name = row(keys, name);
  of_name = member(of_name.key, place);
}

}  // namespace d9d
