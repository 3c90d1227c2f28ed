#include <nlohmann/json.hpp>

#include "runtime/family/expert_keys.hpp"
#include "runtime/family/family.hpp"
#include "runtime/family/mixtral/config.hpp"

namespace d9d {
namespace {

class MixtralFamily final : public FamilyOf<MixtralConfig> {
 public:
  using FamilyOf::FamilyOf;
  std::vector<std::string> required_keys(const nlohmann::json& keys) const override {
    return required_with_local_experts(keys);
  }
  void drop_replaced(nlohmann::json& base, const nlohmann::json& keys) const override {
    drop_other_name_of_experts(base, keys);
  }
};

}  // namespace

const Family* mixtral_family() {
  static const MixtralFamily family("mixtral",
                                    "Mixtral, with experts in every layer, for causal language modelling.");
  return &family;
}

}  // namespace d9d
