// The short forms of `lr_scheduler` beside transformers' schedules of the same names.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "runtime/train/lr/lr_config.hpp"

namespace d9d {
namespace {

constexpr double tolerance = 1e-14;

TEST(LrSchedules, AreThoseOfTransformers) {
  std::ifstream file(D9D_SOURCE_DIR "/tests/golden/lr_schedules/expect.json");
  const auto cases = nlohmann::json::parse(file);
  ASSERT_EQ(cases.size(), 11U);
  for (const auto& [name, expected] : cases.items()) {
    config::Problems problems;
    const auto section = config::decode<LrSchedulerConfig>(
        config::parse(expected["lr_scheduler"].dump(), name), problems, "lr_scheduler");
    problems.throw_if_any();
    const std::int64_t steps = expected["total_steps"];

    const PiecewiseLr lr = build_lr(as_phases(section, steps), steps);

    ASSERT_EQ(expected["multipliers"].size(), static_cast<std::size_t>(steps)) << name;
    for (std::int64_t step = 0; step < steps; ++step) {
      EXPECT_NEAR(lr.multiplier(step), expected["multipliers"][static_cast<std::size_t>(step)].get<double>(),
                  tolerance)
          << name << ", step " << step;
    }
  }
}

}  // namespace
}  // namespace d9d
