#pragma once
// Collectives between GPUs: the Communicator over NCCL, through c10d::ProcessGroupNCCL.

#include <chrono>
#include <memory>
#include <string>

#include "runtime/mesh/plan.hpp"

namespace d9d {

class Communicator;

namespace cuda {

// CPU tensors are taken too: they travel by way of the GPU, and the call returns when the result is in place. The
// members find each other by a file in `folder`.
std::unique_ptr<Communicator> open_nccl(const Group& group, const std::string& folder, int device,
                                        std::chrono::milliseconds timeout);

}  // namespace cuda
}  // namespace d9d
