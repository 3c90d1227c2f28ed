#include "runtime/rank/model/stage_units.hpp"

#include <algorithm>

#include "runtime/base/error.hpp"

namespace d9d {

StageUnits::StageUnits(const std::vector<StageParameter>& weights,
                       const std::vector<StageParameter>& shards) {
  D9D_CHECK(weights.size() == shards.size(), "a stage has {} parameters, {} after parallelize()",
            weights.size(), shards.size());
  for (std::size_t i = 0; i < shards.size(); ++i) {
    const std::shared_ptr<ShardedUnit>& unit = shards[i].unit;
    if (!unit) continue;
    unit_of_[weights[i].tensor.unsafeGetTensorImpl()] = unit.get();
    if (std::find(units_.begin(), units_.end(), unit) == units_.end()) units_.push_back(unit);
  }
  for (const auto& unit : units_) unit->attach();
}

bool StageUnits::reduce_each_microbatch() const {
  return std::any_of(units_.begin(), units_.end(),
                     [](const auto& unit) { return unit->reduces_each_microbatch(); });
}

bool StageUnits::communicate_in_actions() const {
  return std::any_of(units_.begin(), units_.end(), [](const auto& unit) {
    return unit->reduces_each_microbatch() || unit->gathers_again();
  });
}

void StageUnits::before_weight_job(const at::Tensor& weight, bool reads) const {
  const auto found = unit_of_.find(weight.unsafeGetTensorImpl());
  if (found != unit_of_.end()) found->second->before_weight_job(reads);
}

void StageUnits::end_action() const {
  for (const auto& unit : units_) unit->end_action();
}

void StageUnits::end_step() const {
  for (const auto& unit : units_) unit->end_step();
}

void StageUnits::after_update() const {
  for (const auto& unit : units_) unit->after_update();
}

}  // namespace d9d
