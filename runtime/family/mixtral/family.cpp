#include "runtime/family/local_experts_family.hpp"
#include "runtime/family/mixtral/config.hpp"

namespace d9d {

const Family* mixtral_family() {
  static const LocalExpertsFamily<MixtralConfig> family(
      "mixtral", "Mixtral, with experts in every layer, for causal language modelling.");
  return &family;
}

}  // namespace d9d
