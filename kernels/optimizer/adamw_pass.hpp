#pragma once
// The constants of one AdamW update, for the loops of every device. No torch; C++17, because CUDA's
// kernels include it. Internal to kernels/.

namespace d9d::kernels {

struct AdamWSettings;

struct AdamWPass {
  float decay;                // 1 - lr * weight_decay
  float rest1, beta2, rest2;  // 1 - beta1, beta2, 1 - beta2
  float step_size;            // lr / (1 - beta1^step)
  float correction;           // sqrt(1 - beta2^step)
  float eps;
  float grad_scale;
  bool zero_grad;
};

// Computed in fp64, then rounded.
AdamWPass adamw_pass(const AdamWSettings& settings);

}  // namespace d9d::kernels
