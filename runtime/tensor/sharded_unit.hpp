#pragma once
// Parameters of a stage that come and go together: each rank of a group keeps a shard of them, and the whole
// is put together where modules compute (fully sharded data parallel: Rajbhandari et al. 2020, ZeRO stage 3).
// This is what gradients, optimizer and the stage's worker see of it; parallel strategies implement it.
//
// A StageParameter with a unit has its shard as tensor. Modules keep computing with tensors of their own,
// whose values and gradients have memory only while they are needed.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

namespace d9d {

class Communicator;

class ShardedUnit {
 public:
  virtual ~ShardedUnit() = default;

  // Mesh axes over which it is sharded; gradients are scattered over them instead of summed.
  virtual const std::vector<std::string>& axes() const = 0;
  // Of one rank's whole gradient.
  virtual std::uint64_t gradient_bytes() const = 0;
  // Whether gradients leave after every backward, not once a step.
  virtual bool reduces_each_microbatch() const = 0;
  // Whether values are gathered more than once in a step.
  virtual bool gathers_again() const = 0;

  // On the stage's thread.

  // The shards lie where they stay, and so do their gradients (undefined for frozen parameters).
  virtual void attach() = 0;
  // A weight job of this unit comes (kernels/weight_work.hpp); with `reads`, it looks at the values.
  virtual void before_weight_job(bool reads) = 0;
  // The whole gradient is complete, of the step (`last`) or of a microbatch: it goes to reduce_gradient().
  virtual void hand_over_gradient(bool last) = 0;
  // An action ended: no module computes.
  virtual void end_action() = 0;
  // The last action of the step ended; until after_update() nobody asks for values.
  virtual void end_step() = 0;
  // The shards have new values.
  virtual void after_update() = 0;

  // On the thread of the group's Collective: adds the ranks' oldest gradients not reduced yet into the
  // shards' gradients, `shard_gradient` being all of them. True when it was the last of the step.
  virtual bool reduce_gradient(at::Tensor shard_gradient, Communicator& group) = 0;
};

}  // namespace d9d
