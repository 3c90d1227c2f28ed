// The state that goes through all chunks in one launch, against its recurrence in fp64.
#include "kernels/cuda/attention/delta_states.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/full.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/support/gradcheck.hpp"

namespace d9d::test {
namespace {

struct Sizes {
  int64_t chunks, heads, tokens, dk, dv;
};

void expect_recurrence(const Sizes& z, bool backward) {
  SCOPED_TRACE(::testing::Message() << z.chunks << " chunks, " << z.heads << " heads, " << z.tokens
                                    << " tokens, " << z.dk << " x " << z.dv << (backward ? ", back" : ""));
  const auto of = [&](int64_t rows, int64_t columns, int seed, double scale) {
    return values({z.chunks, z.heads, rows, columns}, seed, at::kFloat).mul_(scale);
  };
  // As in delta_rule: one matrix of the two whose rows are parts of longer ones.
  const double small = 1 / std::sqrt(static_cast<double>(z.tokens * z.dk));
  const at::Tensor wide = of(z.tokens, z.dv + z.dk, 1, small), dense = of(z.tokens, z.dk, 2, 1);
  const at::Tensor part = wide.narrow(3, z.dv, z.dk), base = of(z.tokens, z.dv, 3, 1),
                   added = of(z.dk, z.dv, 4, 1);
  const at::Tensor kept = of(z.tokens, 1, 5, 1).sigmoid();
  const at::Tensor &reads = backward ? dense : part, &writes = backward ? part : dense;
  const at::Tensor states =
                       at::full({z.chunks, z.heads, z.dk, z.dv}, std::numeric_limits<float>::quiet_NaN()),
                   made =
                       at::full({z.chunks, z.heads, z.tokens, z.dv}, std::numeric_limits<float>::quiet_NaN());

  ASSERT_EQ(cuda::delta_states({.chunks = z.chunks,
                                .heads = z.heads,
                                .tokens = static_cast<int>(z.tokens),
                                .dk = static_cast<int>(z.dk),
                                .dv = static_cast<int>(z.dv),
                                .backward = backward,
                                .base = base.const_data_ptr<float>(),
                                .reads = reads.const_data_ptr<float>(),
                                .writes = writes.const_data_ptr<float>(),
                                .added = backward ? added.const_data_ptr<float>() : nullptr,
                                .kept = kept.const_data_ptr<float>(),
                                .base_stride = z.dv,
                                .reads_stride = reads.stride(2),
                                .writes_stride = writes.stride(2),
                                .values_stride = z.dv,
                                .states = states.data_ptr<float>(),
                                .values = made.data_ptr<float>()},
                               nullptr),
            0);

  at::Tensor state = at::zeros({z.heads, z.dk, z.dv}, at::kDouble);
  for (int64_t step = 0; step < z.chunks; ++step) {
    const int64_t c = backward ? z.chunks - 1 - step : step;
    const auto at_chunk = [&](const at::Tensor& all) { return all[c].to(at::kDouble); };
    expect_close(at_chunk(states), state, 1e-5, "state");
    const at::Tensor expected = at_chunk(base) + at::matmul(at_chunk(reads), state);
    expect_close(at_chunk(made), expected, 1e-5, "values");
    state = at_chunk(kept).narrow(1, z.tokens - 1, 1) * state +
            at::matmul(at_chunk(writes).transpose(1, 2), expected);
    if (backward) state = state + at_chunk(added);
  }
}

// One chunk and many; heads narrower than a block's columns, wider than they, and of odd widths; a chunk of most
// tokens; keys of which several tiles of rows are made, and of which a block holds few columns.
TEST(DeltaStates, AreThoseOfTheRecurrence) {
  for (const bool backward : {false, true})
    for (const Sizes& sizes : {Sizes{1, 1, 8, 8, 8},
                               {5, 3, 16, 12, 10},
                               {3, 2, 64, 33, 37},
                               {4, 2, 96, 5, 3},
                               {2, 1, 7, 400, 9},
                               {3, 1, 33, 130, 70},
                               {2, 1, 96, 1024, 1},
                               {40, 1, 1, 1, 1}})
      expect_recurrence(sizes, backward);
}

TEST(DeltaStates, FitUpToKeysOf1024Elements) {
  EXPECT_TRUE(cuda::fits_delta_states(96, 1024));
  EXPECT_FALSE(cuda::fits_delta_states(96, 2048));
}

}  // namespace
}  // namespace d9d::test
