#pragma once
// Asks the host's NVIDIA driver for its GPUs, without CUDA's libraries and without occupying a GPU.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace d9d {

struct Gpu {
  std::string name;
  std::int64_t bytes = 0;  // of all its memory
};

struct CudaDriver {
  int cuda_version = 0;   // the newest that it supports: 13000 is 13.0
  std::vector<Gpu> gpus;  // those in CUDA_VISIBLE_DEVICES, by index
  std::string trouble;    // why there are none, if the driver says so
};

// "13.0" of 13000.
std::string cuda_version_text(int version);
// Returns nothing without a driver. `library` is searched as programs search libraries.
std::optional<CudaDriver> find_cuda_driver(const std::string& library = "libcuda.so.1");

// Input error with a remedy: this host cannot compute on GPUs 0 to `devices` - 1. `key` is the
// job's key that asks for them.
void require_gpus(const std::optional<CudaDriver>& driver, int devices,
                  const std::string& key = "node.device:");

}  // namespace d9d
