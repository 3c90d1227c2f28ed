#pragma once
// The only place where methods tell the kinds of linears apart.

#include "runtime/nn/block/leaf.hpp"
#include "runtime/peft/adapted_model.hpp"

namespace d9d {

// Calls visit(Linear&) or visit(GroupedLinear&) for each module that is one.
template <class Visit>
void each_linear(const std::vector<AdaptedModel::NamedModule>& modules, Visit visit) {
  for (const auto& [path, module] : modules) {
    if (auto* const linear = dynamic_cast<Linear*>(module)) {
      visit(*linear);
    } else if (auto* const grouped = dynamic_cast<GroupedLinear*>(module)) {
      visit(*grouped);
    }
  }
}

}  // namespace d9d
