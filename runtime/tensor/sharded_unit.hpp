#pragma once
// A group of parameters that are gathered and freed together, for example those of a layer. Each rank
// keeps a shard, and the whole values exist only while modules compute (fully sharded data
// parallelism: Rajbhandari et al. 2020, ZeRO stage 3). The optimizer and the stage's worker use this
// interface; strategies implement it.
//
// The tensor of a StageParameter with a unit is the shard. Modules compute with other tensors, the whole
// ones. Their values and gradients have memory only while they are needed.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

namespace d9d {

class Communicator;

class ShardedUnit {
 public:
  virtual ~ShardedUnit() = default;

  // The mesh axes over which the unit is sharded. Gradients are reduce-scattered over
  // them instead of summed.
  virtual const std::vector<std::string>& axes() const = 0;
  // The size of the whole gradient on one rank.
  virtual std::uint64_t gradient_bytes() const = 0;
  // Whether gradients are reduced after every microbatch instead of once a step.
  virtual bool reduces_each_microbatch() const = 0;
  // Whether values are gathered more than once in a step.
  virtual bool gathers_again() const = 0;

  // The following calls come from the stage's compute thread and tell the unit what has happened.

  // The shards and their gradients (undefined for frozen parameters) are in their final memory.
  virtual void attach() = 0;
  // A weight job of this unit is about to run (kernels/graph/weight_work.hpp). It needs the values if `reads`.
  virtual void before_weight_job(bool reads) = 0;
  // Sets the whole gradient that is about to be handed over to zero: the update in work does not move this unit.
  virtual void zero_gradient() = 0;
  // The whole gradient of the step (`last`) or of a microbatch is complete. reduce_gradient()
  // will reduce it next.
  virtual void hand_over_gradient(bool last) = 0;
  // An action has ended: no module computes.
  virtual void end_action() = 0;
  // The last action of the step has ended. No values are needed until after_update().
  virtual void end_step() = 0;
  // The shards have new values.
  virtual void after_update() = 0;

  // Reduce-scatters the oldest gradient that is not reduced yet and adds the result to `shard_gradient`, the
  // gradients of all shards. Returns true if it was the last of the step. Called on the thread of the
  // group's Collective; with a device on the compute thread.
  virtual bool reduce_gradient(at::Tensor shard_gradient, Communicator& group) = 0;
};

}  // namespace d9d
