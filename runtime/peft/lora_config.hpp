#pragma once
// `kind: lora` of the section `model_provider.peft` (runtime/peft/lora.hpp). No torch in this header.

#include <boost/describe/class.hpp>

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "runtime/base/config/keys.hpp"

namespace d9d {

struct LoraParameters {
  std::int64_t r = 8;
  double alpha = 8;
  double dropout = 0;
  bool use_rslora = false;
  bool use_dora = false;
};

struct LoraConfig {
  std::string module_name_pattern;
  LoraParameters params;
  std::optional<std::string> from = {};
};

BOOST_DESCRIBE_STRUCT(LoraParameters, (), (r, alpha, dropout, use_rslora, use_dora))
BOOST_DESCRIBE_STRUCT(LoraConfig, (), (module_name_pattern, params, from))

// The key that all methods have.
inline constexpr config::Key module_name_pattern_key{
    "module_name_pattern", "",
    "regular expression (ECMAScript) that matches the whole path of a module, e.g. `.*\\.self_attn\\..*`",
    config::required};

constexpr auto keys_of(config::Tag<LoraParameters>) {
  using namespace config;
  return std::array{
      Key{"r", "", "rank of the two factors", required, at_least(1)},
      Key{"alpha", "", "the branch is multiplied by alpha / r", required, above(0)},
      Key{"dropout", "", "share of the branch's inputs that training sets to zero", optional, below_one()},
      Key{"use_rslora", "", "multiply by alpha / sqrt(r) instead (Kalajdzievski 2023, arXiv 2312.03732)"},
      Key{"use_dora", "",
          "train the length of each row of the weight apart (Liu et al. 2024, arXiv 2402.09353); linears "
          "only"}};
}
constexpr auto keys_of(config::Tag<LoraConfig>) {
  using namespace config;
  return std::array{
      module_name_pattern_key, Key{"params", "", "sizes", required},
      Key{"from", "", "folder of an adapter in PEFT's format to start from; null: B starts at zero"}};
}

}  // namespace d9d
