#pragma once
// The CollectiveWorker over a Communicator. No torch in this header.

#include <functional>
#include <memory>

#include "runtime/rank/collective_worker.hpp"

namespace d9d {

class Communicator;
struct RankGradients;

// `open` runs on the actor's thread and waits for the other ranks. `gradients` may be null where only values
// are reduced.
std::shared_ptr<CollectiveWorker> make_group_worker(std::string name,
                                                    std::function<std::shared_ptr<Communicator>()> open,
                                                    std::shared_ptr<RankGradients> gradients);

}  // namespace d9d
