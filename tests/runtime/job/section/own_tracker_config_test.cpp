#include "runtime/job/section/tracker_config.hpp"

#include <gtest/gtest.h>

#include "runtime/base/config/decode.hpp"

namespace d9d {
namespace {

TEST(OwnTracker, IsWhatNoProviderOfD9dIs) {
  config::Problems problems;
  const auto tracker =
      config::decode<TrackerConfig>(config::parse("{provider: table, file: a.csv}", "job.yaml"), problems);
  problems.throw_if_any();

  const auto* own = std::get_if<OwnTracker>(&tracker);
  ASSERT_NE(own, nullptr);
  EXPECT_EQ(own->name, "table");
  EXPECT_EQ(config::encode(tracker).dump(), R"({"provider":"table","file":"a.csv"})");
}

}  // namespace
}  // namespace d9d
