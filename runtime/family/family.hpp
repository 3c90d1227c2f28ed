#pragma once
// A family of models, as the rest of d9d sees it. All code of a family is in its folder; families.cpp has one
// line for each. No torch in this header.

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace d9d {

class JsonReader;
struct FamilyModel;

class Family {
 public:
  // `name`: transformers' model_type, which is `model_provider.name` in a job file. `meaning`: for the reference of all
  // keys. `multimodal_types`: model_types of multimodal models in transformers whose text_config is this family's
  // unless it says otherwise.
  Family(std::string_view name, std::string_view meaning, std::vector<std::string_view> multimodal_types = {})
      : name_(name), meaning_(meaning), multimodal_types_(std::move(multimodal_types)) {}
  virtual ~Family() = default;

  std::string_view name() const { return name_; }
  std::string_view meaning() const { return meaning_; }
  const std::vector<std::string_view>& multimodal_types() const { return multimodal_types_; }

  // Renames the keys that the section gives to those
  // of config.json. Input errors begin with `where`.
  virtual void to_config_keys(nlohmann::json& /*keys*/, const std::string& /*where*/) const {}
  // The keys that a section without `from` must have: the sizes of a dense model, unless the family has others.
  virtual std::vector<std::string> required_keys(const nlohmann::json& keys) const;
  // For a section without `from`: adds the keys that are left
  // out and whose default differs from that of config.json.
  virtual void add_defaults(nlohmann::json& /*keys*/) const {}
  // Removes the keys of `from`'s config.json that `keys` replace under another name.
  virtual void drop_replaced(nlohmann::json& /*base*/, const nlohmann::json& /*keys*/) const {}

  // A model with the defaults of transformers; its keys are the family's.
  virtual std::shared_ptr<FamilyModel> blank() const = 0;
  // From a config.json with this family's model_type. Input error that names the key at fault.
  std::shared_ptr<FamilyModel> read(const JsonReader& in) const;

 private:
  const std::string_view name_, meaning_;
  const std::vector<std::string_view> multimodal_types_;
};

// A family whose models are of one class.
template <class Model>
class FamilyOf : public Family {
 public:
  using Family::Family;
  std::shared_ptr<FamilyModel> blank() const override { return std::make_shared<Model>(); }
};

}  // namespace d9d
