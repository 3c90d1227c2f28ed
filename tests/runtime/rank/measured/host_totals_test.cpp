#include "runtime/rank/measured/host_totals.hpp"

#include <ATen/ops/full.h>
#include <gtest/gtest.h>

#include <limits>

#include "runtime/device/device.hpp"
#include "runtime/device/host_waits.hpp"
#include "runtime/device/upload.hpp"
#include "runtime/devices/delayed/delayed_device.hpp"
#include "runtime/train/gradient/gradient_norm.hpp"
#include "tests/runtime/train/stage_of.hpp"

namespace d9d {
namespace {

// Of two stages with three losses, one bucket of the rank and one that was reduced, both of which get `gradients`.
StepTotals totals_on(at::Device place, NormType norm, const at::Tensor& gradients) {
  StageParameter parameter = make_parameter("a.b.c", Layout::local({70}), at::kFloat);
  parameter.tensor = upload(parameter.tensor.detach(), device_of(place)).requires_grad_(true);
  const FlatParameters flat({parameter}, {});
  flat.buckets()[0].grad.copy_(upload(gradients, device_of(place)));
  NormParts reduced;
  reduced.add(share_of_norm_later(flat.buckets()[0], norm));
  const auto loss = [&](double value) {
    return at::full({}, value, at::TensorOptions(place).dtype(at::kFloat));
  };
  const std::vector<StageLosses> stages{{{}, {}}, {{loss(2), loss(0.5), loss(1)}, {3, 4, 1}}};
  return host_totals(stages, flat, reduced, norm);
}

TEST(HostTotals, AreThoseOfTheCpuWithOneWait) {
  const at::Tensor gradients = wave("gradients", {70});
  for (const NormType norm : {NormType::l2, NormType::inf}) {
    const StepTotals expected = totals_on(at::kCPU, norm, gradients);
    HostWaits::take();

    const StepTotals totals = totals_on(delayed_device(0)->place(), norm, gradients);

    std::uint64_t waits = 0;
    for (const auto& [where, count] : HostWaits::take()) waits += count;
    EXPECT_EQ(waits, 1U);
    EXPECT_EQ(totals.loss_sum, 9.0);
    EXPECT_EQ(totals.weight_sum, 8.0);
    EXPECT_GT(totals.norm_share, 0);
    EXPECT_EQ(totals.loss_sum, expected.loss_sum);
    EXPECT_EQ(totals.norm_share, expected.norm_share);
  }
}

TEST(HostTotals, TakeNanForInfinityWhereANormIsAMaximum) {
  at::Tensor gradients = wave("gradients", {70});
  gradients[3] = std::numeric_limits<float>::quiet_NaN();

  EXPECT_EQ(totals_on(delayed_device(0)->place(), NormType::inf, gradients).norm_share,
            std::numeric_limits<double>::infinity());
}

}  // namespace
}  // namespace d9d
