#pragma once
// What the GPUs of this process run, kernel by kernel, by the activity records of CUPTI (NVIDIA, "CUPTI: CUDA Profiling
// Tools Interface", chapter Activity API): the driver times kernels itself, no stream gets more work. CMake chooses
// kernel_log.cpp, or no_cupti.cpp where cupti.h is missing.

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/device/device.hpp"
#include "runtime/device/stream_role.hpp"

struct CUstream_st;

namespace d9d::cuda {

// By StreamRole; nullptr is the default stream.
using RoleStreams = std::array<CUstream_st*, stream_roles.size()>;

// From here on what this GPU runs is noted, or no more. Why CUPTI cannot; "" where it does. Any thread.
std::string log_kernels(int gpu, bool on);
// What the GPU was seen to run since the last call; times are of SystemClock. Work of streams that are no rank's is of
// `communicate` if it is NCCL's, else of `compute`. What a host has not waited for comes with a later call.
std::vector<KernelRun> take_kernels(int gpu, const RoleStreams& streams);

}  // namespace d9d::cuda
