#include "runtime/device/memory_ledger.hpp"

#include <gmock/gmock.h>

#include <thread>

#include "tests/support/error_of.hpp"

namespace d9d {
namespace {

using ::testing::ElementsAre;

TEST(MemoryLedger, KnowsThePoolOfWhatIsGivenBackByAnybody) {
  MemoryLedger ledger;
  ledger.taken(0x1000, 100);
  {
    const PoolScope pool(MemoryPool::state);
    ledger.taken(0x2000, 40);
    ledger.taken(0x3000, 2);
  }

  EXPECT_THAT(ledger.counts().in_use(), ElementsAre(100, 42, 0));
  std::thread([&] {
    const PoolScope pool(MemoryPool::communication);
    ledger.given_back(0x2000);
    ledger.given_back(0x9000);  // nobody's
  }).join();
  EXPECT_THAT(ledger.counts().in_use(), ElementsAre(100, 2, 0));
  EXPECT_THAT(ledger.counts().at_peak(), ElementsAre(100, 42, 0));
  ledger.given_back(0x2000);
  EXPECT_THAT(ledger.counts().in_use(), ElementsAre(100, 2, 0)) << "once";
}

TEST(MemoryLedger, NeedsAnAllocatorThatSaysWhatItTakes) {
  require_told_memory("native");
  EXPECT_THAT(test::error_of([] { require_told_memory("cudaMallocAsync"); }, ErrorKind::input),
              ::testing::HasSubstr("take backend:cudaMallocAsync out of PYTORCH_ALLOC_CONF"));
}

}  // namespace
}  // namespace d9d
