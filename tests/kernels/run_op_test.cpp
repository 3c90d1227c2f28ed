// An op without a table for its tensors' device is refused by name, instead of reading memory of another device.
#include "kernels/ops/table.hpp"

#include <ATen/ops/empty.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/activation.hpp"
#include "kernels/ops/every_op.hpp"
#include "kernels/run_op.hpp"
#include "tests/support/error_of.hpp"

using d9d::kernels::for_each_op;
using d9d::kernels::OpTable;
using d9d::kernels::run_op;
using testing::AllOf;
using testing::HasSubstr;

namespace {

// Arguments of an op, its tensors on `device`.
struct Argument {
  at::Device device;
  at::Tensor tensor() const { return at::empty({2, 2}, at::TensorOptions(device)); }

  operator at::Tensor() const { return tensor(); }
  operator d9d::kernels::RopeAngles() const { return {tensor(), tensor()}; }
  operator d9d::kernels::AttentionBlock() const { return {tensor(), tensor()}; }
  operator d9d::kernels::ScoreBias() const { return {tensor()}; }
  operator d9d::kernels::VisibleKeys() const { return {tensor(), tensor()}; }
  operator d9d::kernels::ExpertRows() const { return {tensor(), tensor(), tensor(), tensor()}; }
  operator d9d::kernels::ExpertRowGradients() const { return {tensor(), tensor(), tensor(), tensor()}; }
  operator d9d::kernels::ExpertFactor() const { return {tensor(), false}; }
  operator d9d::kernels::ConvolutionInputs() const { return {{tensor()}, {0}}; }
  operator d9d::kernels::ConvolutionParts() const { return {{tensor()}}; }
  operator d9d::kernels::AdamWSettings() const { return {}; }
  operator d9d::kernels::RoundingNoise() const { return {}; }
  operator d9d::kernels::RandomKey() const { return {}; }
  operator d9d::kernels::BlockPlace() const { return {}; }
  operator d9d::kernels::CacheStretches() const { return {}; }
  operator d9d::kernels::CopiedPieces() const { return {}; }
  operator d9d::kernels::DeltaRuleOptions() const { return {}; }
  operator d9d::kernels::RopeStyle() const { return d9d::kernels::RopeStyle::half; }
  operator d9d::kernels::CodeBook() const { return d9d::kernels::CodeBook::positive; }
  operator at::ScalarType() const { return at::kFloat; }
  operator bool() const { return true; }
  operator double() const { return 1; }
  operator int64_t() const { return 1; }
};

// What run_op says to tensors of the device.
template <class Group, class Result, class... Parameters>
std::string refusal(d9d::kernels::Op<Result(Parameters...)> Group::*op, at::Device device) {
  return d9d::test::error_of<c10::Error>(
      [&] { run_op(op, static_cast<std::decay_t<Parameters>>(Argument{device})...); });
}

}  // namespace

TEST(OpTable, IsListedHereAsAWhole) {
  const std::size_t count = for_each_op([]<auto>(){});

  constexpr std::size_t of_place = alignof(OpTable);  // filled up
  EXPECT_EQ(count * sizeof(d9d::kernels::Op<void()>) + of_place, sizeof(OpTable))
      << "add the new op to kernels/ops/every_op.hpp";
}

TEST(OpTable, RefusesEveryOpOnADeviceWithoutATable) {
  for_each_op([]<auto op>() {
    const std::string name = (d9d::kernels::op_detail::names.*op).name();
    EXPECT_THAT(refusal(op, at::kMeta),
                AllOf(HasSubstr(name + " has no kernel"), HasSubstr("meta"), HasSubstr("Move the tensors")));
  });
}

TEST(OpTable, RefusesEveryOpThatADevicesTableIsWithout) {
  static constexpr OpTable without{};
  d9d::kernels::register_ops(at::kMeta, &without);

  for_each_op([]<auto op>() {
    const std::string name = (d9d::kernels::op_detail::names.*op).name();
    EXPECT_THAT(refusal(op, at::kMeta),
                AllOf(HasSubstr(name + " has no kernel"), HasSubstr("meta"), HasSubstr("without this op")));
  });

  d9d::kernels::register_ops(at::kMeta, nullptr);
}

TEST(OpTable, RefusesTensorsOfTwoDevices) {
  const at::Tensor here = at::empty({2, 2}), there = at::empty({2, 2}, at::kMeta);

  EXPECT_THAT(d9d::test::error_of<c10::Error>([&] { d9d::kernels::silu_mul(here, there); }),
              AllOf(HasSubstr("silu_mul got tensors of cpu and of meta"), HasSubstr("one device")));
}

TEST(OpTable, OfTheCpuHasEveryOpAndStays) {
  for_each_op([]<auto op>() {
    const at::Tensor* const none[] = {nullptr};
    const auto& table = d9d::kernels::op_detail::table_of("test", none);
    EXPECT_NE((table.*op).function(), nullptr) << (table.*op).name();
  });
  static constexpr OpTable other{};
  EXPECT_THROW(d9d::kernels::register_ops(at::kCPU, &other), c10::Error);
}
