// In bfloat16 beside Hugging Face transformers, by fp64; see tests/golden/bfloat16/origin.md.
// Where to round is a choice in which frameworks differ: before or behind the norm's weight (TransformerEngine #1132,
// transformers #33133, #38131), rope in fp32 or not (prime-rl #1167, transformers #31267). So the measure is a distance
// to fp64, not equality.
#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/atan2.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros_like.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kernels/cpu/ops.hpp"
#include "runtime/devices/delayed/delayed_device.hpp"
#include "runtime/devices/delayed/machine.hpp"
#include "runtime/devices/delayed/op_table.hpp"
#include "tests/runtime/family/half_golden.hpp"

namespace d9d::test {
namespace {

using kernels::OpTable;

class HalfParity : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Cases, HalfParity, testing::ValuesIn(half_cases()),
                         [](const auto& info) { return info.param; });

TEST_P(HalfParity, LogitsLossesAndChoicesAreAsNearToTheTruthAsThoseOfTransformers) {
  expect_as_near_as_transformers(GetParam(), at::kCPU);
}

TEST_P(HalfParity, TheyAreSoOnADelayedDevice) {
  delayed::machine(0).reseed(3);

  expect_as_near_as_transformers(GetParam(), delayed_device(0)->place());

  delayed::machine(0).reseed(1);
}

TEST(ErrorSize, IsThatOfAllElements) {
  const at::Tensor truth = at::full({2, 8}, 1.0, at::kDouble);
  at::Tensor found = truth.clone();
  found[1][3] = 5.0;

  EXPECT_EQ(error_size(found, truth).largest, 4.0);
  EXPECT_EQ(error_size(found, truth).rms, 1.0);
}

// Slips in bfloat16 that parity has to find. A delayed device works by these ops instead of the CPU's.

// Sums squares in bfloat16.
kernels::Normed norm_in_half(const at::Tensor& x, const at::Tensor& residual, const at::Tensor& weight,
                             double eps, double offset) {
  const at::Tensor sum = residual.defined() ? x + residual : x;
  const at::Tensor squares = sum * sum;
  at::Tensor all = at::zeros_like(squares.select(-1, 0));
  for (std::int64_t i = 0; i < squares.size(-1); ++i) all = all + squares.select(-1, i);
  const at::Tensor inverse = (all / squares.size(-1) + eps).rsqrt();
  return {sum * inverse.unsqueeze(-1) * (weight + offset), residual.defined() ? sum : at::Tensor(),
          inverse.flatten().to(at::kFloat)};
}

// Rounds position times frequency to bfloat16. Rows of the angles are positions 0, 1, ...
kernels::RotatedHeads rope_in_half(const at::Tensor& x, const at::Tensor& weight, double eps, double offset,
                                   const kernels::RopeAngles& angles, kernels::RopeStyle style) {
  const at::Tensor cos = angles.cos.select(-2, 1), sin = angles.sin.select(-2, 1);
  const at::Tensor positions = at::arange(angles.cos.size(-2), at::kFloat).unsqueeze(-1);
  const at::Tensor angle = (positions * at::atan2(sin, cos).unsqueeze(-2)).to(at::kBFloat16).to(at::kFloat);
  const at::Tensor scale = (cos * cos + sin * sin).sqrt().unsqueeze(-2);
  kernels::RopeAngles rounded = angles;
  rounded.cos = (angle.cos() * scale).view(angles.cos.sizes());
  rounded.sin = (angle.sin() * scale).view(angles.sin.sizes());
  return kernels::cpu::op_table().rope.function()(x, weight, eps, offset, rounded, style);
}

// Sums products in bfloat16.
void matmul_in_half(const at::Tensor& c, const at::Tensor& a, const at::Tensor& b, double beta) {
  at::Tensor all = beta == 0 ? at::zeros_like(c) : c * beta;
  for (std::int64_t k = 0; k < a.size(1); ++k)
    all = all + (a.narrow(1, k, 1) * b.narrow(0, k, 1)).to(all.scalar_type());
  c.copy_(all);
}

struct Slip {
  const char* name;
  void (*into)(OpTable& table);
  std::vector<std::string> cases;  // that show it
};
// Between experts the errors of other roundings are larger than that of angles over 64 tokens.
const Slip slips[] = {
    {"sums_of_a_norm", [](OpTable& table) { table.rms_norm = &norm_in_half; }, half_cases()},
    {"angles", [](OpTable& table) { table.rope = &rope_in_half; }, {"qwen3", "gemma3"}},
    {"sums_of_products", [](OpTable& table) { table.matmul = &matmul_in_half; }, half_cases()}};

class HalfSlips : public testing::TestWithParam<Slip> {};
INSTANTIATE_TEST_SUITE_P(InHalfThePrecision, HalfSlips, testing::ValuesIn(slips),
                         [](const auto& info) { return info.param.name; });

TEST_P(HalfSlips, AreFound) {
  OpTable table = kernels::cpu::op_table();
  GetParam().into(table);
  delayed::use_host_table(&table);

  for (const std::string& name : GetParam().cases)
    EXPECT_GT(half_distance(name, delayed_device(0)->place()).largest(), 1) << name;

  delayed::use_host_table(nullptr);
}

}  // namespace
}  // namespace d9d::test
