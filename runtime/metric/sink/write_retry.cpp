#include "runtime/metric/sink/write_retry.hpp"

#include <algorithm>

#include "runtime/base/error.hpp"
#include "runtime/base/log.hpp"

namespace d9d {
namespace {

constexpr int doublings_max = 6;  // every 64th call, at the least

}  // namespace

bool WriteRetry::attempt(const std::function<void()>& write, bool urgent) {
  if (is_failing() && !urgent && ++passed_over_ < 1 << std::min(failures_ - 1, doublings_max)) return false;
  passed_over_ = 0;
  try {
    write();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::environment) throw;
    if (failures_++ == 0) {
      log::warn(
          "{}. Training goes on; the values are kept in memory and written as soon as the disk works again",
          error.what());
    }
    return false;
  }
  if (is_failing()) log::info("{} is written again", path_.string());
  failures_ = 0;
  return true;
}

}  // namespace d9d
