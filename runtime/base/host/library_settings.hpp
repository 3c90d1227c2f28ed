#pragma once
// Settings that OpenMP and NCCL read once, when they are loaded. Standard library only.

#include <cstdlib>

namespace d9d {

// Sets what the user has not set. True if something was missing: libraries that are loaded already do not know of it.
inline bool set_library_settings() {
  constexpr const char* settings[][2] = {
      {"OMP_WAIT_POLICY", "PASSIVE"},
      // A short spin bridges the gaps between the loops of one layer; a longer one costs four times the step when
      // somebody else wants the core (measured: tests/bench/records/kernels.md).
      {"GOMP_SPINCOUNT", "2000"},
      // NCCL then connects the ranks when they open a group, and not at their first call, when some of them may be in a
      // collective already and hold what CUDA would need for it (device: cuda).
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
  return missing;
}

}  // namespace d9d
