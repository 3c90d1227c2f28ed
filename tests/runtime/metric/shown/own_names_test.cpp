#include "runtime/metric/shown/own_names.hpp"

#include <gtest/gtest.h>

namespace d9d {
namespace {

TEST(OwnNames, AreTheJobsAloneAndWhatIsBelowItsRooms) {
  for (const char* name :
       {"loss", "step", "lr", "tokens_total", "evaluation/loss", "metrics/accuracy", "metrics"})
    EXPECT_TRUE(is_name_of_the_job(name)) << name;
  for (const char* name :
       {"losses", "samples/0", "steps", "metrics_of_mine", "evaluations/loss", "my/loss", ""})
    EXPECT_FALSE(is_name_of_the_job(name)) << name;
}

}  // namespace
}  // namespace d9d
