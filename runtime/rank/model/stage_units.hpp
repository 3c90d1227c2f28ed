#pragma once
// The sharded units of one pipeline stage. Tells each unit when an action, a step or an update ends. Empty
// if no parameter is sharded. Use it on the stage's thread. Needs torch.

#include <map>
#include <memory>
#include <vector>

#include "runtime/tensor/stage_module.hpp"

namespace d9d {

class StageUnits {
 public:
  StageUnits() = default;
  // `weights`: the module's parameters. `shards`: the results of parallelize() for them, in the same order,
  // after they were moved to flat buffers.
  StageUnits(const std::vector<StageParameter>& weights, const std::vector<StageParameter>& shards);

  bool empty() const { return units_.empty(); }
  bool reduce_each_microbatch() const;
  // Whether actions gather or reduce units. If so, the ranks that share the units have to run the
  // actions of a step in the same order.
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
