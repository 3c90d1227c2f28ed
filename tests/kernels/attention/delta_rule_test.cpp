// The chunks of the gated delta rule against its definition, token by token.
#include "kernels/attention/delta_rule.hpp"

#include <ATen/Functions.h>
#include <gtest/gtest.h>

#include "tests/kernels/attention/delta_recurrence.hpp"
#include "tests/support/gradcheck.hpp"

namespace d9d::test {
namespace {

using kernels::DeltaRuleOptions;

// Decays below 0 and betas in (0, 1) of any numbers.
at::Tensor decay_of(const at::Tensor& x) {
  return x.abs().mul(-2);
}
at::Tensor wide(const at::Tensor& x) {
  return x.scalar_type() == at::kBFloat16 ? x.to(at::kFloat) : x;
}

Tensors in_chunks(const Tensors& in, const DeltaRuleOptions& options) {
  return {
      kernels::gated_delta_rule(in[0], in[1], in[2], decay_of(wide(in[3])), wide(in[4]).sigmoid(), options)};
}

// in: q, k [B, S, Hk, Dk], v [B, S, Hv, Dv], what decay and beta come from [B, S, Hv]. fp64.
Tensors token_by_token(const Tensors& in, const DeltaRuleOptions& options) {
  return {delta_recurrence(in[0], in[1], in[2], decay_of(in[3]), in[4].sigmoid(), options)};
}

Tensors inputs(std::int64_t batch, std::int64_t length, std::int64_t key_heads, std::int64_t value_heads,
               std::int64_t dk, std::int64_t dv) {
  return {values({batch, length, key_heads, dk}, 1), values({batch, length, key_heads, dk}, 2),
          values({batch, length, value_heads, dv}, 3), values({batch, length, value_heads}, 4),
          values({batch, length, value_heads}, 5)};
}

void expect_recurrent(const Tensors& in, const DeltaRuleOptions& options) {
  SCOPED_TRACE("chunks of " + std::to_string(options.chunk) + (options.normalise ? ", normalised" : ""));
  expect_matches_in_every_dtype([&](const Tensors& x) { return in_chunks(x, options); },
                                [&](const Tensors& x) { return token_by_token(x, options); }, in);
}

TEST(DeltaRule, IsTheRecurrenceWhateverTheChunk) {
  for (const std::int64_t chunk : {1, 2, 7, 16, 64}) {
    expect_recurrent(inputs(2, 37, 2, 4, 8, 6), {.scale = 0.35, .normalise = true, .chunk = chunk});
  }
}

TEST(DeltaRule, TakesLengthsThatAreNoMultipleOfTheChunk) {
  for (const std::int64_t length : {1, 15, 16, 17, 130}) {
    SCOPED_TRACE(length);
    expect_recurrent(inputs(1, length, 1, 1, 16, 16), {.scale = 0.25, .normalise = true, .chunk = 16});
  }
}

TEST(DeltaRule, TakesKeysThatAreNotNormed) {
  Tensors in = inputs(2, 21, 3, 3, 5, 9);
  in[1] = in[1] * 0.4;
  expect_recurrent(in, {.scale = 1, .normalise = false, .chunk = 8});
}

TEST(DeltaRule, HoldsOnChunksAsModelsHaveThem) {
  expect_recurrent(inputs(1, 200, 1, 2, 64, 128), {.scale = 0.125, .normalise = true, .chunk = 64});
}

TEST(DeltaRule, GradientsMatchCentralDifferences) {
  const DeltaRuleOptions options{.scale = 0.5, .normalise = true, .chunk = 3};
  gradcheck([&](const Tensors& x) { return in_chunks(x, options); }, inputs(1, 7, 1, 2, 3, 4));
}

TEST(DeltaRule, NamesTheShapesThatDoNotFit) {
  Tensors in = inputs(1, 4, 2, 3, 4, 4);
  EXPECT_THROW(in_chunks(in, {}), c10::Error);
  in = inputs(1, 4, 2, 4, 4, 4);
  EXPECT_THROW(in_chunks(in, {.chunk = 0}), c10::Error);
  in[3] = values({1, 4, 2}, 4);
  EXPECT_THROW(in_chunks(in, {}), c10::Error);
}

}  // namespace
}  // namespace d9d::test
