#pragma once
// Settings that OpenMP, NCCL and torch read once, when they are loaded. Standard library only.

#include <sys/utsname.h>

#include <cstdlib>
#include <string_view>

namespace d9d {

// Whether a GPU's memory may be mapped piece by piece. Under WSL (pytorch#192330, WSL#41176) and on Jetson boards
// (unsloth-zoo#1235) the driver offers the calls and then refuses them. `release`: of the kernel, as `uname -r` says.
inline bool may_map_memory(std::string_view release) {
  const auto has = [&](std::string_view word) { return release.find(word) != std::string_view::npos; };
  return !has("icrosoft") && !has("WSL") && !has("tegra");
}

// Sets what the user has not set. True if something was missing: libraries that are loaded already do not know of it.
inline bool set_library_settings() {
  constexpr const char* settings[][2] = {
      {"OMP_WAIT_POLICY", "PASSIVE"},
      // A short spin bridges the gaps between the loops of one layer; a longer one costs four times the step when
      // somebody else wants the core (measured: tests/bench/records/kernels.md).
      {"GOMP_SPINCOUNT", "2000"},
      // NCCL then connects the ranks when a communicator is made (comm/nccl/late_channel), and not piece by piece in
      // its calls, when some of them may be in a collective already and hold what CUDA would need for it.
      {"NCCL_RUNTIME_CONNECT", "0"},
      // Kernels of different groups then start in the order in which the rank launched them, as the ranks of a group
      // count on; else two groups may wait for each other for ever (NCCL user guide, "Using multiple NCCL communicators
      // concurrently").
      {"NCCL_LAUNCH_ORDER_IMPLICIT", "1"}};
  bool missing = false;
  for (const auto& [name, value] : settings) {
    missing = missing || std::getenv(name) == nullptr;
    setenv(name, value, 0);
  }
  // The memory of a GPU then grows in place and is mapped anew, instead of blocks that a later size does not fit: sizes
  // change with the unit that is gathered and with what experts get. torch 2.11 and 2.15 read PYTORCH_CUDA_ALLOC_CONF
  // before the other name (c10/cuda/CUDAAllocatorConfig.h), so ours must not stand beside it.
  utsname system{};
  const bool is_known = ::uname(&system) == 0;
  if (std::getenv("PYTORCH_CUDA_ALLOC_CONF") == nullptr && std::getenv("PYTORCH_ALLOC_CONF") == nullptr &&
      is_known && may_map_memory(system.release)) {
    missing = true;
    setenv("PYTORCH_ALLOC_CONF", "expandable_segments:True", 0);
  }
  return missing;
}

}  // namespace d9d
