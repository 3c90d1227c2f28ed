// What is computed with a cache, against the CPU's.
#include <ATen/ops/zeros.h>

#include "tests/kernels/cuda/same_as_cpu.hpp"
#include "tests/support/gradcheck.hpp"

namespace d9d::test {
namespace {

using kernels::CacheStretches;
using kernels::OpTable;

struct CachedHeads {
  int64_t query_heads, key_heads, dim, value_dim;
};

// Heads that take accesses of 16 bytes and such that do not, that are shared and that are not, of two widths; values
// that are wider than a block has threads.
constexpr CachedHeads cached_shapes[] = {
    {4, 2, 16, 16}, {6, 2, 20, 72}, {2, 2, 64, 128}, {3, 1, 5, 3}, {2, 1, 24, 520}};

// Passes of one token and of several, of sequences that begin and that go on; tokens of no sequence, and no tokens.
const CacheStretches passes[] = {{{1, 6, 1}}, {{2, 0, 3}, {0, 11, 1}, {1, 4, 2}}, {}};

int64_t counted(const CacheStretches& stretches) {
  int64_t tokens = 0;
  for (const kernels::CacheStretch& stretch : stretches) tokens += stretch.count;
  return tokens;
}

// As many sequences as a launch takes, and some more.
CacheStretches very_many() {
  CacheStretches stretches;
  for (int64_t sequence = 0; sequence < 70; ++sequence)
    stretches.push_back({sequence, sequence % 5, 1 + sequence % 2});
  return stretches;
}

// Tokens that lie apart from each other, as those of a part of a common projection.
at::Tensor rows_of(int64_t tokens, int64_t heads, int64_t dim, std::uint64_t seed, at::ScalarType dtype) {
  return values({tokens, heads + 1, dim}, seed, dtype).narrow(1, 0, heads);
}

void expect_written(const CachedHeads& s, const CacheStretches& stretches, int64_t sequences,
                    at::ScalarType dtype) {
  const at::Tensor cache = values({sequences, s.key_heads, 13, s.dim}, 1, dtype);
  expect_same_as_cpu(&OpTable::write_cache, 0, rows_of(counted(stretches) + 2, s.key_heads, s.dim, 2, dtype),
                     cache, stretches);
}

void expect_attended(const CachedHeads& s, const CacheStretches& stretches, int64_t sequences, int64_t room,
                     int64_t window, at::ScalarType dtype) {
  const at::Tensor keys = values({sequences, s.key_heads, room, s.dim}, 1, dtype),
                   into = values({sequences, s.key_heads, room, s.value_dim}, 2, dtype);
  expect_same_as_cpu(&OpTable::cached_attention, 1,
                     rows_of(counted(stretches) + 2, s.query_heads, s.dim, 3, dtype), keys, into, stretches,
                     window, 0.3);
}

TEST_F(CudaOps, SmallTokensAreWrittenToTheirPlacesInACache) {
  for (const auto dtype : {at::kFloat, at::kBFloat16}) {
    for (const CachedHeads& s : cached_shapes) {
      for (const CacheStretches& stretches : passes) expect_written(s, stretches, 3, dtype);
    }
    expect_written(cached_shapes[0], very_many(), 70, dtype);
  }
}

TEST_F(CudaOps, SmallAttentionOverACacheEqualsTheCpus) {
  for (const auto dtype : {at::kFloat, at::kBFloat16}) {
    for (const CachedHeads& s : cached_shapes) {
      for (const CacheStretches& stretches : passes) expect_attended(s, stretches, 3, 13, 0, dtype);
    }
    for (const int64_t window : {1, 5}) expect_attended(cached_shapes[0], passes[1], 3, 13, window, dtype);
    expect_attended(cached_shapes[0], very_many(), 70, 13, 0, dtype);
  }
}

// Several blocks read the keys of a token, and some of the tokens have fewer of them than the others.
TEST_F(CudaOps, AttentionOverALongCacheEqualsTheCpus) {
  const CacheStretches stretches{{0, 1400, 2}, {1, 3, 1}, {2, 511, 1}};
  for (const auto dtype : {at::kFloat, at::kBFloat16}) {
    for (const int64_t window : {0, 600}) expect_attended({2, 1, 16, 24}, stretches, 3, 1500, window, dtype);
  }
}

struct DeltaStepHeads {
  int64_t key_heads, value_heads, key_dim, value_dim;
};

void expect_advanced(const DeltaStepHeads& s, const CacheStretches& stretches, int64_t sequences,
                     bool normalise, at::ScalarType dtype) {
  const int64_t tokens = counted(stretches) + 2;
  const kernels::DeltaRuleOptions options{.scale = 0.4, .normalise = normalise, .chunk = 4};
  const double factor = normalise ? 1 : 1.0 / static_cast<double>(s.key_dim);
  const at::Tensor q = values({tokens, s.key_heads, s.key_dim}, 1, dtype),
                   k = values({tokens, s.key_heads, s.key_dim}, 2, dtype).mul(factor),
                   v = rows_of(tokens, s.value_heads, s.value_dim, 3, dtype),
                   decay = values({tokens, s.value_heads}, 4, at::kFloat).abs().neg(),
                   beta = values({tokens, s.value_heads}, 5, at::kFloat).sigmoid(),
                   state = values({sequences, s.value_heads, s.key_dim, s.value_dim}, 6, at::kFloat);
  expect_same_as_cpu(&OpTable::delta_rule_steps, 2, q, k, v, decay, beta, state, stretches, options);
}

TEST_F(CudaOps, SmallStepsOfTheDeltaRuleEqualTheCpus) {
  for (const auto dtype : {at::kFloat, at::kBFloat16}) {
    for (const DeltaStepHeads& s : {DeltaStepHeads{2, 4, 12, 10}, {1, 1, 64, 40}}) {
      for (const CacheStretches& stretches : passes) {
        for (const bool normalise : {false, true}) expect_advanced(s, stretches, 3, normalise, dtype);
      }
    }
    expect_advanced({1, 1, 600, 9}, {{1, 4, 2}}, 3, true, dtype);
    expect_advanced({1, 2, 8, 8}, very_many(), 70, true, dtype);
  }
}

TEST_F(CudaOps, RefusesStepsOfKeysThatDoNotFitBesideAState) {
  const at::Tensor wide = there(at::zeros({1, 1, 2000})), value = there(at::zeros({1, 1, 4})),
                   gate = there(at::zeros({1, 1})), state = there(at::zeros({1, 1, 2000, 4}));
  const auto advance = (table_under_test().*(&OpTable::delta_rule_steps)).function();

  EXPECT_THROW(advance(wide, wide, value, gate, gate, state, {{0, 0, 1}}, {}), c10::Error);
}

}  // namespace
}  // namespace d9d::test
