#include "runtime/peft/adapter_targets.hpp"

#include <algorithm>
#include <functional>
#include <map>

#include "runtime/base/error.hpp"

namespace d9d {
namespace {

enum class Projection { gate, up, down, other };

// The last `parts` names of a path, or the whole path.
std::string end_of(const std::string& path, int parts) {
  std::size_t at = path.size();
  while (parts-- > 0) {
    if (at == 0) return path;
    at = path.rfind('.', at - 1);
    if (at == std::string::npos) return path;
  }
  return path.substr(at + 1);
}

Projection projection_of(const std::string& path) {
  static const std::map<std::string, Projection, std::less<>> names{
      {"gate_proj", Projection::gate}, {"up_proj", Projection::up}, {"down_proj", Projection::down},
      {"w1", Projection::gate},        {"w3", Projection::up},      {"w2", Projection::down}};
  const auto found = names.find(end_of(path, 1));
  return found == names.end() ? Projection::other : found->second;
}

// The names by which a list of target modules can mean a module: of its own, and for an expert "experts.3.up_proj".
constexpr int own_name = 1, name_of_expert = 3;

class FreeNames {
 public:
  void forbid(const std::string& path) {
    for (const int parts : {own_name, name_of_expert}) taken_[parts].insert(end_of(path, parts));
  }
  std::string of(const AdaptedModule& module) const {
    if (is_free(module.path, own_name)) return end_of(module.path, own_name);
    if (module.expert && is_free(module.path, name_of_expert)) return end_of(module.path, name_of_expert);
    return module.path;
  }

 private:
  bool is_free(const std::string& path, int parts) const {
    const auto found = taken_.find(parts);
    return found == taken_.end() || !found->second.contains(end_of(path, parts));
  }

  std::map<int, std::set<std::string>> taken_;
};

template <class Visit>
void each_module(const std::vector<NamedAdapter>& adapters, const Visit& visit) {
  for (const NamedAdapter& named : adapters)
    for (const AdaptedModule& module : named.modules) visit(named, module);
}

// "model.layers.1.mlp.experts.3"
std::string expert_in(const std::string& path) {
  return path.substr(0, path.rfind('.'));
}

// The projections of experts that have adapters; peft has one matrix for an expert's gate and up.
std::set<Projection> projections_of_experts(const std::vector<NamedAdapter>& adapters) {
  std::set<Projection> all;
  std::map<std::string, std::map<Projection, std::string>> of_expert;
  each_module(adapters, [&](const NamedAdapter&, const AdaptedModule& module) {
    if (!module.expert) return;
    all.insert(projection_of(module.path));
    of_expert[expert_in(module.path)][projection_of(module.path)] = module.path;
  });
  for (const auto& [expert, own] : of_expert) {
    const bool gate = own.contains(Projection::gate), up = own.contains(Projection::up);
    if (gate == up) continue;
    throw Error(
        ErrorKind::input,
        fmt::format("{} has an adapter without the expert's {} projection, and peft 0.21 reads only adapters "
                    "of both, because transformers 5 has them in one matrix; write a module_name_pattern "
                    "that matches both or none, or give export_to instead of export_adapter_to",
                    own.at(gate ? Projection::gate : Projection::up), gate ? "up" : "gate"));
  }
  return all;
}

void require_no_dora(const NamedAdapter& named, const AdaptedModule& module) {
  D9D_REQUIRE(
      !named.adapter.config.params.use_dora,
      "{} has an adapter with use_dora, which peft 0.21 cannot read: in a mixture of experts it takes "
      "modules of this name for experts', unless it is given the weight itself, without DoRA; leave "
      "use_dora out, write a module_name_pattern that does not match the module, or give export_to "
      "instead of export_adapter_to",
      module.path);
}

}  // namespace

bool is_target_parameter(const AdaptedModule& module, bool taken) {
  return taken && !module.expert && projection_of(module.path) != Projection::other;
}

bool fuses_projections(const std::vector<NamedAdapter>& adapters) {
  return std::ranges::any_of(adapters, [](const NamedAdapter& named) {
    const AdaptedModule& first = named.modules.front();
    return first.expert && projection_of(first.path) == Projection::gate;
  });
}

AdapterTargets targets_of(const std::vector<NamedAdapter>& adapters, const std::vector<std::string>& others,
                          bool taken) {
  AdapterTargets targets;
  FreeNames names;
  for (const std::string& path : others) names.forbid(path);
  each_module(adapters, [&](const NamedAdapter& named, const AdaptedModule& module) {
    if (!is_target_parameter(module, taken)) return;
    require_no_dora(named, module);
    names.forbid(module.path);
    targets.parameters.insert(module.path + ".weight");
  });
  each_module(adapters, [&](const NamedAdapter&, const AdaptedModule& module) {
    if (!is_target_parameter(module, taken)) targets.modules.insert(names.of(module));
  });
  const std::set<Projection> of_experts = projections_of_experts(adapters);
  const bool gate = of_experts.contains(Projection::gate), down = of_experts.contains(Projection::down);
  if (gate && !taken) targets.parameters.insert("experts.gate_up_proj");
  // peft gives the factors of gate and up the name that they have beside those of down, and finds them there alone.
  if ((gate && !down) || (down && !taken)) targets.parameters.insert("experts.down_proj");
  return targets;
}

}  // namespace d9d
