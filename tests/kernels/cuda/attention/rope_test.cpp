// Rotary embedding, with and without a norm of the heads, against the CPU's.
#include "tests/kernels/cuda/same_as_cpu.hpp"
#include "tests/support/gradcheck.hpp"

namespace d9d::test {
namespace {

using kernels::OpTable;
using kernels::RopeStyle;

struct Heads {
  int64_t batch, length, heads, dim, rotary;
};

// Heads that take accesses of 16 bytes and such that do not, all or a part of them rotated; a head of one warp and of
// several in one; none.
constexpr Heads shapes[] = {{2, 5, 3, 16, 16},  {1, 3, 2, 128, 128}, {2, 3, 1, 24, 16}, {1, 4, 2, 6, 4},
                            {1, 2, 2, 160, 96}, {1, 33, 5, 64, 64},  {2, 0, 2, 8, 8}};

template <class F>
void for_each_case(F&& f) {
  for (const auto dtype : {at::kFloat, at::kBFloat16}) {
    for (const Heads& s : shapes) {
      for (const RopeStyle style : {RopeStyle::half, RopeStyle::interleaved}) {
        for (const bool own_angles : {false, true}) {
          const std::vector<int64_t> sizes =
              own_angles ? std::vector{s.batch, s.length, s.rotary} : std::vector{s.length, s.rotary};
          const kernels::RopeAngles angles{values(sizes, 7, at::kFloat), values(sizes, 8, at::kFloat)};
          f(dtype, s, style, angles);
        }
      }
    }
  }
}

// Tokens that lie apart from each other, as those of a part of a common projection.
at::Tensor heads_of(const Heads& s, std::uint64_t seed, at::ScalarType dtype) {
  return values({s.batch, s.length, s.heads + 1, s.dim}, seed, dtype).narrow(2, 0, s.heads);
}

TEST_F(CudaOps, SmallRotationsEqualTheCpus) {
  for_each_case([](auto dtype, const Heads& s, RopeStyle style, const kernels::RopeAngles& angles) {
    const at::Tensor x = heads_of(s, 0, dtype), weight = values({s.dim}, 1, dtype);
    expect_same_as_cpu(&OpTable::rope, 1, x, at::Tensor(), 0, 0, angles, style);
    expect_same_as_cpu(&OpTable::rope, 2, x, weight, 1e-6, 1, angles, style);
  });
}

TEST_F(CudaOps, SmallRotationsGradientsEqualTheCpus) {
  for_each_case([](auto dtype, const Heads& s, RopeStyle style, const kernels::RopeAngles& angles) {
    const at::Tensor x = heads_of(s, 0, dtype), weight = values({s.dim}, 1, dtype);
    const at::Tensor dy = values({s.batch, s.length, s.heads, s.dim}, 2, dtype);
    const at::Tensor inverse = values({s.batch, s.length, s.heads}, 3, at::kFloat).abs();
    for (const at::Tensor& dx : {at::zeros(dy.sizes(), dy.options()), heads_of(s, 4, dtype)}) {
      expect_same_as_cpu(&OpTable::rope_backward, 1, dx, dy, at::Tensor(), at::Tensor(), 0, at::Tensor(),
                         angles, style);
      expect_same_as_cpu(&OpTable::rope_backward, 1, dx, dy, x, weight, 1, inverse, angles, style);
    }
  });
}

// A turn by no angles copies. What lies between the tokens of its result stays.
TEST_F(CudaOps, AGradientOfNoAnglesIsCopiedToItsPlaceOnly) {
  for (const auto dtype : {at::kFloat, at::kBFloat16}) {
    for (const Heads& s : shapes) {
      const at::Tensor dy = there(heads_of(s, 1, dtype)),
                       all = there(values({s.batch, s.length, s.heads + 2, s.dim}, 2, dtype)),
                       before = all.clone();
      const at::Tensor none = there(at::empty({s.length, 0}, at::kFloat));

      table_under_test().rope_backward.function()(all.narrow(2, 1, s.heads), dy, {}, {}, 0, {}, {none, none},
                                                  RopeStyle::half);

      before.narrow(2, 1, s.heads).copy_(dy);
      EXPECT_TRUE(same_bits(all, before));
    }
  }
}

}  // namespace
}  // namespace d9d::test
