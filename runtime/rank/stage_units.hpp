#pragma once
// The sharded units of one pipeline stage, told when an action, a step or an update ends. Empty where nothing
// is sharded. On the stage's thread. Needs torch.

#include <map>
#include <memory>
#include <vector>

#include "runtime/tensor/stage_module.hpp"

namespace d9d {

class StageUnits {
 public:
  StageUnits() = default;
  // `weights`: the module's own list; `shards`: what parallelize()
  // made of it, in the same order, in their flat buffers.
  StageUnits(const std::vector<StageParameter>& weights, const std::vector<StageParameter>& shards);

  bool empty() const { return units_.empty(); }
  bool reduce_each_microbatch() const;
  // Then the ranks that share the units have to run the actions of a step in one order.
  bool communicate_in_actions() const;
  void before_weight_job(const at::Tensor& weight, bool reads) const;
  void end_action() const;
  void end_step() const;
  void after_update() const;

 private:
  std::vector<std::shared_ptr<ShardedUnit>> units_;  // in the order of their first parameter
  std::map<const c10::TensorImpl*, ShardedUnit*> unit_of_;
};

}  // namespace d9d
