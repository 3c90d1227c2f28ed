#pragma once
// What the host's NVIDIA driver offers, asked without CUDA's libraries and without beginning to use a GPU.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace d9d {

struct Gpu {
  std::string name;
  std::int64_t bytes = 0;  // of memory, all of it
};

struct CudaDriver {
  int cuda_version = 0;   // that it serves: 13000 is 13.0
  std::vector<Gpu> gpus;  // that CUDA_VISIBLE_DEVICES leaves, by index
  std::string trouble;    // why there are none, if the driver says so
};

// "13.0" of 13000.
std::string cuda_version_text(int version);
// None without a driver. `library` is looked up as programs look up libraries.
std::optional<CudaDriver> find_cuda_driver(const std::string& library = "libcuda.so.1");

// Input error with a remedy where this host cannot compute on GPUs 0 to `devices` - 1; `key` is where it was asked to.
void require_gpus(const std::optional<CudaDriver>& driver, int devices,
                  const std::string& key = "node.device:");

}  // namespace d9d
