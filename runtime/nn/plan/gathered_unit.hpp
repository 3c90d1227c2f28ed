#pragma once
// One unit of fully sharded data parallelism, a layer for example: gathers its parameters on the
// communication thread before use (those of a device on its stream), frees them after it, and adds up their whole
// gradients until they are reduce-scattered. On the CPU the Collective's thread calls reduce_gradient(), which also
// calls gradient_bytes(); the compute thread of the stage calls all other functions.

#include <deque>
#include <future>
#include <memory>
#include <mutex>

#include "runtime/comm/communicator.hpp"
#include "runtime/device/device.hpp"
#include "runtime/nn/plan/whole_buffer.hpp"
#include "runtime/nn/shard/communication_thread.hpp"
#include "runtime/tensor/sharded_unit.hpp"

namespace d9d {

struct GatheredUnitOptions {
  std::string name;  // for traces
  std::vector<std::string> axes;
  std::shared_ptr<Communicator> communicator;  // gathers over `axes`; only `thread` uses it
  std::shared_ptr<CommunicationThread> thread;
  bool keep_gathered = false;  // keep the values from their first use to the end of the step
  bool gather_ahead = false;   // and gather them again right after the update (ZeRO stage 1)
  bool reduce_each_microbatch = false;
};

// A parameter of the unit. `weight` is the module's tensor and keeps its identity.
struct UnitWeight {
  at::Tensor weight;
  at::Tensor shard;
};

class GatheredUnit final : public ShardedUnit {
 public:
  // `weights`: in definition order, of one dtype, all trainable or all frozen. The constructor frees their
  // memory: values exist between ensure() and release(). `map` says which rank holds which rows.
  GatheredUnit(GatheredUnitOptions options, std::vector<UnitWeight> weights, ShardMap map);
  ~GatheredUnit() override;

  const std::vector<std::string>& axes() const override { return options_.axes; }
  std::uint64_t gradient_bytes() const override;
  bool reduces_each_microbatch() const override { return options_.reduce_each_microbatch; }
  bool gathers_again() const override { return !options_.keep_gathered; }

  // Submits the gather to the thread, or to the device's stream, unless the values are there or under way.
  void request();
  // Waits until the values are there. They may be read until release().
  void ensure();
  // Ends the use that ensure() began. Frees the values, unless the options keep them.
  void release();
  // Makes the memory that weight gradients are added to.
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
  at::Tensor shards_;  // all shards, one after another
  WholeBuffer values_;
  WholeBuffer gradients_;
  at::Tensor on_its_way_;  // memory that the gather is filling
  std::future<void> arrival_;
  Event arrived_;  // the values are there; written by the gather

  struct Complete {
    at::Tensor gradient;
    bool last = false;
  };
  std::mutex complete_mutex_;
  std::deque<Complete> complete_;
  bool reduced_before_ = false;  // in this step; of the thread that calls reduce_gradient()
};

}  // namespace d9d
