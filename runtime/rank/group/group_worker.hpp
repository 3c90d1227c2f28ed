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
  // Called on the actor's thread; they wait for the other ranks. Without `scatter` gradients are only summed,
  // without `sum` only reduce-scattered. Values are reduced over `sum`.
  OpenCommunicator scatter;
  OpenCommunicator sum;
  std::shared_ptr<RankGradients> gradients;  // null if only values are reduced
  int group = -1;                // of the gradients, as gradient_group_index() counts; -1 likewise
  NormType norm = NormType::l2;  // whose shares reduce_bucket() returns
};
std::shared_ptr<CollectiveWorker> make_group_worker(GroupWorkerOptions options);

}  // namespace d9d
