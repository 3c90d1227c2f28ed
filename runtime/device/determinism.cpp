#include "runtime/device/determinism.hpp"

#include <ATen/Context.h>

#include <cstdlib>

namespace d9d {

void compute_deterministically() {
  at::Context& torch = at::globalContext();
  torch.setDeterministicAlgorithms(true, /*warn_only=*/false);
  torch.setDeterministicFillUninitializedMemory(false);  // our code never reads uninitialised memory
  torch.setDeterministicCuDNN(true);
  torch.setBenchmarkCuDNN(false);
  // Variables that the user has set are kept.
  constexpr int keep = 0;
  setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8", keep);
  setenv("NCCL_ALGO", "Ring", keep);
  setenv("NCCL_NVLS_ENABLE", "0", keep);
}

}  // namespace d9d
