#pragma once
// Section `model_provider`: a model of a built-in family or a plugin's. The `model` of a family takes Hugging
// Face's keys or the original's (runtime/family).

#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "runtime/base/config/keys.hpp"
#include "runtime/base/config/section.hpp"
#include "runtime/family/provider_choice.hpp"

namespace d9d {

struct FamilyModel;

using ModelProviderConfig = std::variant<FamilyProvider, config::Named>;

// The architecture that the section describes: `from`'s config.json, changed by the keys of `model`; null for
// a plugin's model. Input errors name the key; `model_provider` leads their path.
std::shared_ptr<const FamilyModel> resolve_model(const ModelProviderConfig& provider);

}  // namespace d9d

namespace d9d::config {

// As a choice by `name` (codec_choice.hpp), whose alternatives are the families known at run time.
template <>
struct Codec<ModelProviderConfig> {
  static std::vector<std::string_view> names();
  static std::string type() { return "section by `name`"; }
  static bool read(ModelProviderConfig& out, const Node& node, const Path& path, Problems& problems);
  static Json write(const ModelProviderConfig& value);
  static void tables(Reference& reference, const std::string& path, const ModelProviderConfig& value);
};

}  // namespace d9d::config
