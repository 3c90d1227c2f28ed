#pragma once
// One unit of fully sharded data parallelism, for example a layer. It gathers its parameters before
// they are used, frees them afterwards, and adds up their whole gradients until these are
// reduce-scattered. The gather runs on the communication thread; for parameters on a device it is
// queued on the device's communication stream instead.
//
// Threads: on the CPU the Collective's thread calls reduce_gradient() and gradient_bytes(). The compute
// thread of the stage calls all other functions.

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

// What becomes of a unit's whole values and gradients within a step.
struct UnitPolicy {
  bool keep_gathered = false;  // keep the values from their first use to the end of the step
  bool gather_ahead = false;   // gather them again right after the update (ZeRO stage 1)
  bool reduce_each_microbatch = false;
};

struct GatheredUnitOptions {
  std::string name;  // for traces
  std::vector<std::string> axes;
  // Gathers over `axes`; only `thread` uses it. Null where only layouts are wanted.
  std::shared_ptr<Communicator> communicator;
  std::shared_ptr<CommunicationThread> thread;
  UnitPolicy policy;
};

// A parameter of the unit: the module's tensor, which stays the same object, and the shard of this rank.
struct UnitWeight {
  at::Tensor weight;
  at::Tensor shard;
  std::int64_t begin = 0;  // of the weight in the whole unit, in elements
};

class GatheredUnit final : public ShardedUnit {
 public:
  // `weights`: in definition order, of one dtype, all trainable or all frozen. `map`: the rows that each
  // rank holds. Frees the memory of the weights; they have values only between ensure() and release().
  GatheredUnit(GatheredUnitOptions options, std::vector<UnitWeight> weights, ShardMap map);
  ~GatheredUnit() override;

  const std::vector<std::string>& axes() const override { return options_.axes; }
  std::uint64_t gradient_bytes() const override;
  bool reduces_each_microbatch() const override { return options_.policy.reduce_each_microbatch; }
  bool gathers_again() const override { return !options_.policy.keep_gathered; }

  // The elements of the whole unit that no weight has: between its weights.
  std::int64_t gap_elements() const;
  bool is_trainable() const { return weights_.front().shard.requires_grad(); }

  // Starts to gather the values on the thread or the device's stream. Does nothing when
  // they are gathered or on their way.
  void request();
  // Requests the values and waits for them. They may be read until release().
  void ensure();
  // Frees the values, unless keep_gathered is set.
  void release();
  // Allocates the weight gradients, filled with zeros. Does nothing when they
  // have memory or the unit is frozen.
  void open_gradient();

  void attach() override;
  void before_weight_job(bool reads) override;
  void zero_gradient() override;
  void hand_over_gradient(bool last) override;
  void end_action() override;
  void end_step() override;
  void after_update() override;
  bool reduce_gradient(at::Tensor shard_gradient, Communicator& group) override;

 private:
  void drop_values();

  const GatheredUnitOptions options_;
  const std::vector<UnitWeight> weights_;
  const ShardMap map_;
  at::Tensor shards_;  // all shards, one after another
  WholeBuffer values_;
  WholeBuffer gradients_;
  at::Tensor on_its_way_;      // memory that the gather is filling
  std::future<void> arrival_;  // on the CPU: the job on the communication thread
  Event arrived_;              // recorded by the gather when the values are complete

  struct Complete {
    at::Tensor gradient;
    bool last = false;
  };
  std::mutex complete_mutex_;
  std::deque<Complete> complete_;
  bool reduced_before_ = false;  // in this step; used only by the thread that calls reduce_gradient()
};

}  // namespace d9d
