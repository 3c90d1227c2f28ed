#include "runtime/pipeline/watch/other_leaves.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/ones.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/variable.h>

namespace d9d {
namespace {

at::Tensor leaf(std::int64_t size) {
  return at::ones({size}, at::kFloat).requires_grad_();
}

TEST(OtherLeaves, AreWhatTheGraphEndsInBesideTheKnown) {
  const at::Tensor known = leaf(3), other = leaf(3), unused = leaf(3), constant = at::ones({3}, at::kFloat);
  const at::Tensor loss = ((known * other + constant).relu() * other).sum() + (unused.detach() * known).sum();

  const auto found = other_leaves({loss.grad_fn()}, {known});

  ASSERT_EQ(found.size(), 1U);
  EXPECT_TRUE(found[0].is_same(other));
  EXPECT_TRUE(other_leaves({loss.grad_fn()}, {known, other}).empty());
  EXPECT_TRUE(other_leaves({}, {}).empty());
  EXPECT_TRUE(other_leaves({nullptr}, {}).empty());
}

}  // namespace
}  // namespace d9d
