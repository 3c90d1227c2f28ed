#include "runtime/job/section/pipeline_schedule_config.hpp"

#include <gmock/gmock.h>

#include "runtime/base/config/decode.hpp"
#include "tests/runtime/job/job_text.hpp"

namespace d9d {
namespace {

using ::testing::HasSubstr;

TEST(OwnScheduleConfig, IsWhatNoScheduleOfD9dIs) {
  const LoadedJob loaded =
      testing_job::load({"trainer.pipelining.schedule={schedule: mine, depth: 2}", "plugins=[mine.so]"});

  const auto* own = std::get_if<OwnSchedule>(&loaded.job.trainer.pipelining.schedule);
  ASSERT_NE(own, nullptr);
  EXPECT_EQ(own->name, "mine");
  EXPECT_EQ(config::encode(loaded.job.trainer.pipelining.schedule).dump(),
            R"({"schedule":"mine","depth":2})");
  EXPECT_THAT(testing_job::error_of({"trainer.pipelining.schedule=mine"}),
              HasSubstr("trainer.pipelining.schedule.schedule: \"mine\" is not known"));
}

}  // namespace
}  // namespace d9d
