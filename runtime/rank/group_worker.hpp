#pragma once
// The CollectiveWorker over a Communicator. No torch in this header.

#include <functional>
#include <memory>
#include <string>

#include "runtime/rank/collective_worker.hpp"

namespace d9d {

class Communicator;
struct RankGradients;

using OpenCommunicator = std::function<std::shared_ptr<Communicator>()>;

struct GroupWorkerOptions {
  std::string name;
  // They run on the actor's thread and wait for the other ranks. Either may be missing: nothing is scattered,
  // or nothing is summed after that. Values are summed over `sum`.
  OpenCommunicator scatter;
  OpenCommunicator sum;
  std::shared_ptr<RankGradients> gradients;  // may be null where only values are reduced
};
std::shared_ptr<CollectiveWorker> make_group_worker(GroupWorkerOptions options);

}  // namespace d9d
