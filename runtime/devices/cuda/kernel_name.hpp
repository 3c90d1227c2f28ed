#pragma once

#include <string>

namespace d9d::cuda {

// What people call a kernel, of a C++ symbol: "d9d::cuda::rms_norm<float>".
std::string kernel_name(const char* symbol);

}  // namespace d9d::cuda
