#include "runtime/family/gpt_oss/config.hpp"
#include "runtime/family/local_experts_family.hpp"

namespace d9d {

const Family* gpt_oss_family() {
  static const LocalExpertsFamily<GptOssConfig> family(
      "gpt_oss",
      "GPT-OSS, with attention sinks, windows and experts of a clamped SwiGLU, "
      "for causal language modelling.");
  return &family;
}

}  // namespace d9d
