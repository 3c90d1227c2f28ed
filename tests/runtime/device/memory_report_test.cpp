#include "runtime/device/memory_report.hpp"

#include <gmock/gmock.h>

#include "runtime/base/host_limits.hpp"
#include "runtime/device/device.hpp"
#include "runtime/devices/delayed/delayed_device.hpp"

namespace d9d {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::uint64_t mib = 1 << 20;

TEST(MemoryReport, SaysWhoIsOutOfMemoryAndWhatTookIt) {
  const c10::Device place = delayed_device(7)->place();
  set_device_use(place, {.ranks = {1, 5}, .expected = {.state = 38 * mib, .activations = 12 * mib}});

  const std::string text = out_of_device_memory(
      place, 4 * mib, {.in_use = {19 * mib, 40 * mib, 2 * mib}, .free = 3 * mib, .limit = 64 * mib});

  EXPECT_THAT(text, AllOf(HasSubstr("delayed:7 (ranks 1, 5) is out of memory: 4.0 MiB are wanted"),
                          HasSubstr("3.0 MiB of 64.0 MiB are free on the device"),
                          HasSubstr("state 40.0 MiB, activations 19.0 MiB, communication 2.0 MiB"),
                          HasSubstr("check estimates 38.0 MiB of state and what is gathered, 12.0 MiB"),
                          HasSubstr("Shard parameters over more ranks")));
  EXPECT_EQ(out_of_memory_report(text + "\nException raised from"), text) << "nothing of the host's memory";
}

TEST(MemoryReport, AdvisesByThePoolThatHasMost) {
  const c10::Device place(c10::kCUDA, 3);
  const auto advice = [&](const PoolBytes& in_use) {
    return out_of_device_memory(place, mib, {.in_use = in_use});
  };

  EXPECT_THAT(advice({3, 2, 1}),
              AllOf(HasSubstr("cuda:3 is out"), HasSubstr("Lower batching.microbatch_size"),
                    Not(HasSubstr("estimates"))));
  EXPECT_THAT(advice({1, 2, 3}), HasSubstr("reshard_after_forward"));
}

TEST(MemoryReport, HasALineForEachDeviceThatIsUsed) {
  const auto device = delayed_device(7);
  set_device_use(device->place(), {.ranks = {1}});

  EXPECT_THAT(peak_lines(), Contains(AllOf(HasSubstr("delayed:7 (rank 1) took"), HasSubstr("state"))));
}

}  // namespace
}  // namespace d9d
