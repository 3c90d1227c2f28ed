#pragma once
// A family whose config.json says num_local_experts, of experts as wide as intermediate_size. For this folder.

#include <nlohmann/json.hpp>

#include "runtime/family/expert_keys.hpp"
#include "runtime/family/family.hpp"

namespace d9d {

template <class Model>
class LocalExpertsFamily final : public FamilyOf<Model> {
 public:
  using FamilyOf<Model>::FamilyOf;
  std::vector<std::string> required_keys(const nlohmann::json& keys) const override {
    return required_with_local_experts(keys);
  }
  void drop_replaced(nlohmann::json& base, const nlohmann::json& keys) const override {
    drop_other_name_of_experts(base, keys);
  }
};

}  // namespace d9d
