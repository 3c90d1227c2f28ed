#pragma once
// A GPU as what a rank computes on (runtime/device/device.hpp).

#include <memory>

#include "runtime/device/device.hpp"

namespace d9d::cuda {

// The compute stream is the one that threads have from the start, CUDA's default stream; the others come from torch's
// pool and do not wait for it. Environment error if the index is none of a GPU that the process sees.
std::shared_ptr<Device> make_device(int index);
// An event on a stream (cudaStream_t) of the GPU, that tells when it was reached.
Event timed_event(int index, void* stream);

}  // namespace d9d::cuda
