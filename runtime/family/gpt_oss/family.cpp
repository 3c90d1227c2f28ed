#include <nlohmann/json.hpp>

#include "runtime/family/expert_keys.hpp"
#include "runtime/family/family.hpp"
#include "runtime/family/gpt_oss/config.hpp"

namespace d9d {
namespace {

class GptOssFamily final : public FamilyOf<GptOssConfig> {
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

const Family* gpt_oss_family() {
  static const GptOssFamily family("gpt_oss",
                                   "GPT-OSS, with attention sinks, windows and experts of a clamped SwiGLU, "
                                   "for causal language modelling.");
  return &family;
}

}  // namespace d9d
