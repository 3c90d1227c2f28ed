#include "runtime/rank/torch_seed.hpp"

#include <ATen/ops/equal.h>
#include <ATen/ops/rand.h>
#include <gtest/gtest.h>

namespace d9d {
namespace {

at::Tensor draws(std::uint64_t base_seed, int first_rank, std::uint64_t step) {
  seed_torch(base_seed, first_rank, step);
  return at::rand({16});
}

TEST(TorchSeed, TheSamePlaceDrawsTheSameNumbers) {
  EXPECT_TRUE(at::equal(draws(3, 2, 7), draws(3, 2, 7)));
}

TEST(TorchSeed, AnotherSeedRankOrStepDrawsOthers) {
  const at::Tensor here = draws(3, 2, 7);

  EXPECT_FALSE(at::equal(here, draws(4, 2, 7)));
  EXPECT_FALSE(at::equal(here, draws(3, 1, 7)));
  EXPECT_FALSE(at::equal(here, draws(3, 2, 8)));
}

}  // namespace
}  // namespace d9d
