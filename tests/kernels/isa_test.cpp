#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "kernels/cpu/loops/table.hpp"

using d9d::kernels::flat_loop_table;
using d9d::kernels::Isa;
using d9d::kernels::loop_table;

namespace {

constexpr int64_t width = 203;

std::vector<float> wave(double frequency, int64_t count = width) {
  std::vector<float> values;
  for (int64_t i = 0; i < count; ++i)
    values.push_back(static_cast<float>(4 * std::sin(frequency * double(i) + 1)));
  return values;
}

void expect_near(const std::vector<float>& actual, const std::vector<float>& expected) {
  for (std::size_t i = 0; i < actual.size(); ++i)
    EXPECT_NEAR(actual[i], expected[i], 4e-6 * (1 + std::abs(expected[i])));
}

std::vector<float> norm_by(Isa isa) {
  const auto x = wave(0.3), weight = wave(0.7);
  std::vector<float> y(width);
  float inverse = 0;
  loop_table<float>(isa).rms_norm(1, width, {x.data(), width}, {nullptr, 0}, weight.data(), 1e-6F, 0, nullptr,
                                  y.data(), &inverse);
  return y;
}

std::vector<float> silu_mul_by(Isa isa) {
  const auto gate = wave(0.3), up = wave(0.7);
  std::vector<float> y(width);
  loop_table<float>(isa).silu_mul(1, width, {gate.data(), width}, {up.data(), width}, {y.data(), width});
  return y;
}

std::vector<float> loss_by(Isa isa) {
  auto z = wave(0.3);
  float inverse = 0;
  const float loss = loop_table<float>(isa).cross_entropy_row(width, z.data(), 7, true, &inverse);
  z.push_back(loss);
  z.push_back(inverse);
  return z;
}

std::vector<float> adamw_by(Isa isa) {
  auto p = wave(0.3), g = wave(0.7), m = wave(0.9), v = wave(0.0);
  flat_loop_table(isa).adamw(width, {0.999F, 0.1F, 0.95F, 0.05F, 1e-3F, 0.5F, 1e-8F, 1.0F, false}, p.data(),
                             g.data(), m.data(), v.data());
  return p;
}

}  // namespace

// The table for this machine is what all other tests use; the others must not rot.
TEST(Isa, EveryInstructionSetGivesTheSameNumbers) {
  for (const Isa isa : {Isa::avx2, Isa::avx512}) {
    if (isa > d9d::kernels::isa_of_this_machine())
      GTEST_SKIP() << "this machine has no " << loop_table<float>(isa).isa;
    SCOPED_TRACE(loop_table<float>(isa).isa);
    expect_near(norm_by(isa), norm_by(Isa::baseline));
    expect_near(silu_mul_by(isa), silu_mul_by(Isa::baseline));
    expect_near(loss_by(isa), loss_by(Isa::baseline));
    expect_near(adamw_by(isa), adamw_by(Isa::baseline));
  }
}

TEST(Isa, TheExponentialKeepsItsBound) {
  // silu(x) / x = sigmoid(x): for large -x it is exp(x) to the last bits.
  for (float x = -87; x < -20; x += 0.37F) {
    const float one = 1;
    float y = 0;
    loop_table<float>().silu_mul(1, 1, {&x, 1}, {&one, 1}, {&y, 1});
    const double expected = x / (1 + std::exp(-double(x)));
    EXPECT_NEAR(y, expected, 3e-7 * std::abs(expected)) << x;
  }
}
