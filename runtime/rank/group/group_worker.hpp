#pragma once
// The CollectiveWorker over a Communicator. No torch in this header.

#include <functional>
#include <memory>
#include <string>

#include "runtime/rank/group/collective_worker.hpp"
#include "runtime/train/gradient/norm_type.hpp"

namespace d9d {

class Communicator;
struct RankGradients;

using OpenCommunicator = std::function<std::shared_ptr<Communicator>()>;

struct GroupWorkerOptions {
  std::string name;
  // Open the communicators; called on the actor's thread, and they wait for the other ranks. Without
  // `scatter` gradients are only summed, without `sum` only reduce-scattered. Values are reduced over `sum`.
  OpenCommunicator scatter;
  OpenCommunicator sum;
  std::shared_ptr<RankGradients> gradients;  // null if only values are reduced
  int group = -1;                // gradient_group_index() of the gradients; -1 if only values are reduced
  NormType norm = NormType::l2;  // the norm whose shares reduce_bucket() returns
};
std::shared_ptr<CollectiveWorker> make_group_worker(GroupWorkerOptions options);

}  // namespace d9d
