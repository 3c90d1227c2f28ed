// The convolution before the delta rule against the CPU's.
#include <ATen/ops/zeros.h>

#include "tests/kernels/cuda/same_as_cpu.hpp"
#include "tests/support/gradcheck.hpp"

namespace d9d::test {
namespace {

using kernels::ConvolutionInputs;
using kernels::ConvolutionParts;
using kernels::OpTable;

struct Convolution {
  int64_t sequences, length, heads, width, taps;
};
// Packs and not, sequences shorter than the taps, several slabs of tokens.
constexpr Convolution convolutions[] = {
    {2, 9, 3, 16, 4}, {1, 2, 2, 5, 4}, {3, 7, 1, 24, 2}, {1, 150, 2, 40, 3}};
constexpr int64_t first_row = 3, other_channels = 7;

at::Tensor weight_of(const Convolution& c, at::ScalarType dtype) {
  return values({c.heads * c.width + other_channels, 1, c.taps}, 1, dtype);
}
// A view into rows of more channels.
ConvolutionInputs input_of(const Convolution& c, at::ScalarType dtype) {
  return {{values({c.sequences, c.length, c.heads + 2, c.width}, 0, dtype).narrow(2, 1, c.heads)},
          {first_row}};
}
ConvolutionParts gradient_of(const Convolution& c, at::ScalarType dtype) {
  return {{values({c.sequences, c.length, c.heads, c.width}, 2, dtype)}};
}

// Queries, keys and values of a joint projection, as a gated delta net has them. Their rows of the weight follow each
// other, or, of a rank of several, do not.
struct Joint {
  std::vector<int64_t> widths, first;
  int64_t rows, taps;
};
const Joint joints[] = {{{8, 8, 16}, {0, 16, 32}, 64, 4},
                        {{8, 8, 24, 8}, {5, 21, 37, 85}, 110, 4},
                        {{8, 16}, {40, 3}, 60, 4},
                        {{3, 3, 6}, {0, 6, 12}, 24, 4},
                        {{8, 8, 16}, {0, 16, 32}, 64, 3}};
constexpr int64_t joint_length = 70, joint_heads = 2;

ConvolutionInputs inputs_of(const Joint& joint, at::ScalarType dtype) {
  int64_t all = 8;  // which are not convolved
  for (const int64_t width : joint.widths) all += width;
  const at::Tensor x = values({2, joint_length, joint_heads, all}, 0, dtype);
  ConvolutionInputs in{{}, joint.first};
  int64_t at = 0;
  for (const int64_t width : joint.widths) {
    in.x.push_back(x.narrow(3, at, width));
    at += width;
  }
  return in;
}
ConvolutionParts gradients_of(const Joint& joint, at::ScalarType dtype) {
  ConvolutionParts parts;
  for (const int64_t width : joint.widths)
    parts.of.push_back(
        values({2, joint_length, joint_heads, width}, 2 + static_cast<int>(parts.of.size()), dtype));
  return parts;
}

TEST_F(CudaOps, SmallConvolutionsEqualTheCpus) {
  for (const auto dtype : {at::kFloat, at::kBFloat16}) {
    for (const Convolution& c : convolutions)
      expect_same_as_cpu(&OpTable::short_convolution, 1, input_of(c, dtype), weight_of(c, dtype));
    for (const Joint& joint : joints)
      expect_same_as_cpu(&OpTable::short_convolution, 1, inputs_of(joint, dtype),
                         values({joint.rows, 1, joint.taps}, 1, dtype));
  }
}

TEST_F(CudaOps, SmallConvolutionsGradientsEqualTheCpus) {
  for (const auto dtype : {at::kFloat, at::kBFloat16}) {
    for (const Convolution& c : convolutions)
      expect_same_as_cpu(&OpTable::short_convolution_dx, 1, gradient_of(c, dtype), input_of(c, dtype),
                         weight_of(c, dtype));
    for (const Joint& joint : joints)
      expect_same_as_cpu(&OpTable::short_convolution_dx, 1, gradients_of(joint, dtype),
                         inputs_of(joint, dtype), values({joint.rows, 1, joint.taps}, 1, dtype));
  }
}

// The rows of other calls are zeroed with beta 0, and kept with beta 1.
TEST_F(CudaOps, SmallConvolutionsWeightGradientsEqualTheCpus) {
  for (const auto dtype : {at::kFloat, at::kBFloat16}) {
    for (const double beta : {0.0, 1.0}) {
      for (const Convolution& c : convolutions)
        expect_same_as_cpu(&OpTable::short_convolution_dw, 8, gradient_of(c, at::kFloat), input_of(c, dtype),
                           weight_of(c, at::kFloat), beta);
      for (const Joint& joint : joints)
        expect_same_as_cpu(&OpTable::short_convolution_dw, 8, gradients_of(joint, at::kFloat),
                           inputs_of(joint, dtype), values({joint.rows, 1, joint.taps}, 1, at::kFloat), beta);
    }
  }
}

TEST_F(CudaOps, SmallConvolutionsOfNoTokensAreEmpty) {
  expect_same_as_cpu(&OpTable::short_convolution, 1,
                     ConvolutionInputs{{at::zeros({2, 0, 2, 8}, at::kFloat)}, {0}},
                     values({16, 1, 4}, 0, at::kFloat));
}

}  // namespace
}  // namespace d9d::test
