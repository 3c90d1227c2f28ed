// Heads and sequences are shared between threads, and none of a task's numbers depend on another's.
#include "kernels/cpu/delta_heads.hpp"

#include <ATen/Functions.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "kernels/attention/delta_rule.hpp"
#include "tests/support/gradcheck.hpp"

namespace d9d::kernels::cpu {
namespace {

using test::Tensors;
using test::values;

Tensors delta_rule_in(const Tensors& in) {
  const at::Tensor out =
      gated_delta_rule(in[0], in[1], in[2], in[3], in[4], {.scale = 0.2, .normalise = true});
  Tensors results = torch::autograd::grad({out}, in, {values(out.sizes(), 9, at::kFloat)});
  results.push_back(out.detach());
  return results;
}

TEST(DeltaHeads, HaveTheSameBitsWithAnyNumberOfThreadsAndInAnyBatch) {
  const auto leaf = [](at::IntArrayRef sizes, int seed) {
    return values(sizes, static_cast<std::uint64_t>(seed), at::kFloat);
  };
  const Tensors all{leaf({3, 150, 2, 24}, 1), leaf({3, 150, 2, 24}, 2), leaf({3, 150, 6, 40}, 3),
                    leaf({3, 150, 6}, 4).abs().neg(), leaf({3, 150, 6}, 5).sigmoid()};
  const auto with_threads = [&](int threads) {
    const int before = at::get_num_threads();
    at::set_num_threads(threads);
    Tensors in;
    for (const at::Tensor& x : all) in.push_back(x.detach().clone().requires_grad_(true));
    Tensors results = delta_rule_in(in);
    at::set_num_threads(before);
    return results;
  };

  const Tensors one = with_threads(1), four = with_threads(4);

  for (std::size_t i = 0; i < one.size(); ++i) EXPECT_TRUE(at::equal(one[i], four[i])) << i;
  const auto sequence = [&](const at::Tensor& x) { return x.narrow(0, 1, 1).contiguous(); };
  const at::Tensor alone =
      gated_delta_rule(sequence(all[0]), sequence(all[1]), sequence(all[2]), sequence(all[3]),
                       sequence(all[4]), {.scale = 0.2, .normalise = true});
  EXPECT_TRUE(at::equal(alone, sequence(one.back())));
}

}  // namespace
}  // namespace d9d::kernels::cpu
