#pragma once
// The ShardedUnit of fully sharded data parallel: gathers the values of its parameters on the rank's lane,
// frees them, and collects their whole gradients until they are scattered. All calls but reduce_gradient()
// come from the stage's compute thread.

#include <deque>
#include <future>
#include <memory>
#include <mutex>

#include "runtime/comm/communicator.hpp"
#include "runtime/nn/plan/whole_buffer.hpp"
#include "runtime/nn/shard/communication_lane.hpp"
#include "runtime/tensor/sharded_unit.hpp"

namespace d9d {

struct GatheredUnitOptions {
  std::string name;  // for traces
  std::vector<std::string> axes;
  std::shared_ptr<Communicator> communicator;  // for gathering; of these axes, used on the lane only
  std::shared_ptr<CommunicationLane> lane;
  bool keep_gathered = false;  // values stay from their first use to the end of the step
  bool gather_ahead = false;   // and are gathered again as soon as they have changed (ZeRO stage 1)
  bool reduce_each_microbatch = false;
};

// A parameter of the unit. `weight` is the module's tensor and keeps its identity.
struct UnitWeight {
  at::Tensor weight;
  at::Tensor shard;
};

class GatheredUnit final : public ShardedUnit {
 public:
  // Of one dtype, and all trainable or all frozen, in definition order. From now on the weights have no
  // memory of their own. `map` describes them one after the other.
  GatheredUnit(GatheredUnitOptions options, std::vector<UnitWeight> weights, ShardMap map);
  ~GatheredUnit() override;

  const std::vector<std::string>& axes() const override { return options_.axes; }
  std::uint64_t gradient_bytes() const override;
  bool reduces_each_microbatch() const override { return options_.reduce_each_microbatch; }
  bool gathers_again() const override { return !options_.keep_gathered; }

  // Asks the lane for the values, unless they are there or on their way.
  void request();
  // The values are there, and may be looked at until release().
  void ensure();
  // After the use that ensure() was for; kept where the options say so.
  void release();
  // Weight gradients may be added from now on.
  void open_gradient();

  void attach() override;
  void before_weight_job(bool reads) override;
  void hand_over_gradient(bool last) override;
  void end_action() override;
  void end_step() override;
  void after_update() override;
  bool reduce_gradient(at::Tensor shard_gradient, Communicator& group) override;

 private:
  void drop_values();
  bool is_trainable() const { return weights_.front().shard.requires_grad(); }

  const GatheredUnitOptions options_;
  const std::vector<UnitWeight> weights_;
  const ShardMap map_;
  at::Tensor shards_;  // all of them, one after the other
  WholeBuffer values_;
  WholeBuffer gradients_;
  at::Tensor on_its_way_;  // memory that the lane fills
  std::future<void> arrival_;

  struct Complete {
    at::Tensor gradient;
    bool last = false;
  };
  std::mutex complete_mutex_;
  std::deque<Complete> complete_;
  bool reduced_before_ = false;  // in this step; the Collective's
};

}  // namespace d9d
