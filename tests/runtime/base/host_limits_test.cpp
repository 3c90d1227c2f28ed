#include "runtime/base/host_limits.hpp"

#include <gmock/gmock.h>

#include <atomic>
#include <filesystem>
#include <limits>
#include <new>
#include <system_error>
#include <thread>
#include <vector>

#include "runtime/base/error.hpp"
#include "tests/support/error_of.hpp"

namespace d9d {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(HostLimits, AProcessUsesMoreMemoryWhenItTakesSome) {
  const std::uint64_t before = process_bytes();
  const std::vector<char> taken(64 << 20, 1);

  EXPECT_GT(before, 1U << 20);
  EXPECT_GE(process_bytes(), before + (48U << 20)) << taken.back();
}

TEST(HostLimits, TorchsOwnWordsBecomeWhatWasWantedAndWhatThereIs) {
  const std::string report = out_of_memory_report(
      "[enforce fail at alloc_cpu.cpp:117] err == 0. DefaultCPUAllocator: can't allocate memory: you tried "
      "to "
      "allocate 4503599627370496 bytes. Error code 12 (Cannot allocate memory)\nException raised from "
      "f\nframe #0");

  EXPECT_THAT(report,
              AllOf(HasSubstr("out of memory: wanted 4503599627370496 bytes"), HasSubstr("MemAvailable"),
                    HasSubstr("microbatch_size"), Not(HasSubstr("frame"))));
}

TEST(HostLimits, OtherWordsAreNotAboutMemory) {
  EXPECT_EQ(out_of_memory_report("index 7 is out of range"), "");
}

TEST(HostLimits, AnAllocationThatFailsIsTheEnvironmentsFault) {
  try {
    throw std::bad_alloc();
  } catch (...) {
    const Caught caught = describe_current_exception();
    EXPECT_EQ(caught.kind, ErrorKind::environment);
    EXPECT_THAT(caught.what, AllOf(HasSubstr("out of memory"), HasSubstr("MemAvailable")));
  }
}

TEST(HostLimits, ThreadsThatCanBeHadAreGivenBack) {
  const auto threads = [] {
    const std::filesystem::directory_iterator all("/proc/self/task");
    return std::distance(begin(all), end(all));
  };
  const auto before = threads();

  require_threads(8);

  while (threads() > before) std::this_thread::yield();  // ends when the kernel has forgotten them
}

TEST(HostLimits, AThreadThatIsRefusedIsAnErrorWithTheLimits) {
  std::vector<std::thread> threads;
  const auto two_at_most = [&](std::function<void()> body) {
    if (threads.size() == 2) {
      throw std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again));
    }
    threads.emplace_back(std::move(body));
  };

  EXPECT_THAT(
      test::error_of([&] { require_threads(5, two_at_most); }, ErrorKind::environment),
      AllOf(HasSubstr("needs about 5 threads"), HasSubstr("refused number 3"), HasSubstr("ulimit -u")));
  for (std::thread& thread : threads) thread.join();  // they were let go
}

TEST(HostLimits, WithoutALimitAnyAddressSpaceWillDo) {
  EXPECT_NO_THROW(require_address_space(std::numeric_limits<std::uint32_t>::max()));
}

}  // namespace
}  // namespace d9d
