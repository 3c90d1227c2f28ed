#pragma once
// While alive, counts the CPU bytes that torch holds for this thread.

#include <c10/core/Allocator.h>
#include <c10/util/ThreadLocalDebugInfo.h>

#include <algorithm>
#include <cstdint>
#include <memory>

namespace d9d::test {

class LiveBytes {
 public:
  LiveBytes() : counter_(std::make_shared<Counter>()), guard_(c10::DebugInfoKind::PROFILER_STATE, counter_) {}
  std::int64_t peak() const { return counter_->peak; }
  std::int64_t now() const { return counter_->live; }

 private:
  struct Counter final : c10::MemoryReportingInfoBase {
    void reportMemoryUsage(void*, std::int64_t change, std::size_t, std::size_t, c10::Device) override {
      live += change;
      peak = std::max(peak, live);
    }
    bool memoryProfilingEnabled() const override { return true; }
    std::int64_t live = 0;
    std::int64_t peak = 0;
  };

  std::shared_ptr<Counter> counter_;
  c10::DebugInfoGuard guard_;
};

}  // namespace d9d::test
