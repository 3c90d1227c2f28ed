#include "runtime/device/delayed/stream_waits.hpp"

#include <atomic>
#include <cstdlib>
#include <memory>

#include "runtime/base/error.hpp"

namespace d9d::delayed {
namespace {

std::uint64_t skipped_in_process() {
  const char* const given = std::getenv("D9D_SKIP_WAIT");
  if (given == nullptr || *given == '\0') return 0;
  char* end = nullptr;
  const std::uint64_t number = std::strtoull(given, &end, 10);
  D9D_REQUIRE(*end == '\0', "D9D_SKIP_WAIT is \"{}\", expected the number of a wait", given);
  return number;
}

struct Waits {
  std::atomic<std::uint64_t> count = 0;
  std::atomic<std::uint64_t> skipped = skipped_in_process();
};

Waits& waits() {
  static const auto of_process = std::make_unique<Waits>();
  return *of_process;
}

}  // namespace

void StreamWaits::restart(std::uint64_t skipped) {
  waits().skipped = skipped;
  waits().count = 0;
}

std::uint64_t StreamWaits::count() {
  return waits().count;
}

bool StreamWaits::skips_next() {
  return ++waits().count == waits().skipped;
}

}  // namespace d9d::delayed
