#include "runtime/device/determinism.hpp"

#include <ATen/Context.h>

#include <cstdlib>

namespace d9d {

void compute_deterministically() {
  at::Context& torch = at::globalContext();
  torch.setDeterministicAlgorithms(true, /*warn_only=*/false);
  torch.setDeterministicFillUninitializedMemory(false);  // ours does not read what nobody wrote
  torch.setDeterministicCuDNN(true);
  torch.setBenchmarkCuDNN(false);
  // The user's own choice stays.
  constexpr int keep = 0;
  setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8", keep);
  setenv("NCCL_ALGO", "Ring", keep);
  setenv("NCCL_NVLS_ENABLE", "0", keep);
}

}  // namespace d9d
