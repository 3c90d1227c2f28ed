#pragma once
// What gated delta rules are tested with: [sequences, length, heads, width] of a wave, decays < 0, betas in (0, 1).

#include <ATen/TensorOperators.h>

#include "kernels/ops/recurrent_ops.hpp"
#include "tests/support/gradcheck.hpp"

namespace d9d::test {

struct DeltaSizes {
  int64_t sequences, length, key_heads, value_heads, dk, dv;
};

struct DeltaInputs {
  at::Tensor q, k, v, decay, beta, grad;

  DeltaInputs(const DeltaSizes& s, at::ScalarType dtype)
      : q(values({s.sequences, s.length, s.key_heads, s.dk}, 1, dtype)),
        k(values({s.sequences, s.length, s.key_heads, s.dk}, 2, dtype)),
        v(values({s.sequences, s.length, s.value_heads, s.dv}, 3, dtype)),
        decay(values({s.sequences, s.length, s.value_heads}, 4, at::kFloat).abs().mul(-2)),
        beta(values({s.sequences, s.length, s.value_heads}, 5, at::kFloat).sigmoid()),
        grad(values({s.sequences, s.length, s.value_heads, s.dv}, 6, dtype)) {}
};

// Unit keys, or small ones: a rule whose keys are longer diverges.
inline DeltaInputs delta_inputs(const DeltaSizes& sizes, const kernels::DeltaRuleOptions& options,
                                at::ScalarType dtype) {
  DeltaInputs in(sizes, dtype);
  if (!options.normalise) in.k.mul_(0.3);
  return in;
}

}  // namespace d9d::test
