#pragma once
// How adapter_config.json names the modules that have adapters, so that peft 0.21 finds them in transformers 5.
//
// There the experts of a layer are the parameters `experts.gate_up_proj` and `experts.down_proj`. For most families
// peft takes every target module called gate_proj, up_proj or down_proj (Mixtral: w1, w3, w2) for these two
// (peft/utils/transformers_weight_conversion.py), so a linear of the same name, of a dense layer or of a shared
// expert, is left out in silence: such a linear is named as a target parameter. Where peft has no such rule
// (Qwen2-MoE), the parameters of the experts are.

#include <set>
#include <string>
#include <vector>

#include "runtime/peft/adapter_names.hpp"

namespace d9d {

// An adapter as PEFT's format has it.
struct NamedAdapter {
  LoraAdapter adapter;
  std::vector<AdaptedModule> modules;
};

struct AdapterTargets {
  std::set<std::string> modules;     // target_modules
  std::set<std::string> parameters;  // target_parameters
};

// Whether peft finds the module by the name of its weight alone. `taken`: FamilyModel::peft_takes_projections().
bool is_target_parameter(const AdaptedModule& module, bool taken);

// The regular expression, in rank_pattern and alpha_pattern, of the parameter that has experts' gate and up.
inline constexpr const char* fused_projections = R"(experts\.gate_up_proj)";
// Whether experts have adapters that peft fuses into this parameter's.
bool fuses_projections(const std::vector<NamedAdapter>& adapters);

// `others`: paths of the model's linears without adapter. A module has the shortest name that matches none of them.
// Input error where peft cannot read the adapters: experts' gate without up, DoRA of a target parameter.
AdapterTargets targets_of(const std::vector<NamedAdapter>& adapters, const std::vector<std::string>& others,
                          bool taken);

}  // namespace d9d
