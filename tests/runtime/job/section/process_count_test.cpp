#include "runtime/job/section/process_count.hpp"

#include <gmock/gmock.h>

#include "tests/runtime/job/job_text.hpp"
#include "tests/support/error_of.hpp"

namespace d9d {
namespace {

using testing::HasSubstr;

std::optional<ProcessCount> read(const std::string& value) {
  return testing_job::load({"node.processes=" + value}).job.node.processes;
}

TEST(ProcessCount, IsANumberOrOneForEachDevice) {
  EXPECT_EQ(read("null"), std::nullopt);
  EXPECT_EQ(read("3"), (ProcessCount{.count = 3}));
  const auto per_device = testing_job::load({"node.processes=per_device", "node.device=delayed"});
  EXPECT_EQ(per_device.job.node.processes, (ProcessCount{.per_device = true}));
  EXPECT_EQ(resolved_keys(per_device.job).at("node").at("processes"), "per_device");
}

TEST(ProcessCount, RefusesOthersWithTheRemedy) {
  for (const char* bad : {"0", "-1", "1.5", "many", "'2'", "[2]"}) {
    EXPECT_THAT(test::error_of([&] { read(bad); }, ErrorKind::input),
                HasSubstr("write a number > 0 or per_device"))
        << bad;
  }
}

TEST(ProcessCount, OfDevicesNeedsDevices) {
  EXPECT_THAT(test::error_of([] { read("per_device"); }, ErrorKind::input),
              HasSubstr("node.processes: per_device, but the ranks compute on the CPU"));
}

}  // namespace
}  // namespace d9d
