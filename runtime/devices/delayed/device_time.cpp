#include "runtime/devices/delayed/device_time.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cctype>
#include <charconv>
#include <chrono>
#include <cmath>
#include <map>
#include <mutex>
#include <string_view>
#include <thread>
#include <utility>

#include "runtime/base/clock.hpp"
#include "runtime/base/error.hpp"
#include "runtime/device/stream_role.hpp"
#include "runtime/devices/delayed/current.hpp"

namespace d9d::delayed {
namespace {

struct Planted {
  std::mutex mutex;
  PlantedTimes times;
  std::atomic<bool> costs = false, host = false;
  void set(PlantedTimes given) {
    const std::lock_guard lock(mutex);
    times = std::move(given);
    costs = static_cast<bool>(times.cost);
    host = static_cast<bool>(times.host_ns);
  }
};

// Never destroyed, as devices are not.
Planted& planted() {
  static const auto of_process = new Planted;
  return *of_process;
}

std::int64_t real_time_ns() {
  return SystemClock().now_ns();
}

std::int64_t planted_cost(const Given& given) {
  Planted& all = planted();
  if (!all.costs) return -1;
  const std::lock_guard lock(all.mutex);
  return all.times.cost ? all.times.cost(given) : -1;
}

const TimedPiece*& piece_of_thread() {
  thread_local const TimedPiece* of_thread = nullptr;
  return of_thread;
}

bool is_digit(char c) {
  return std::isdigit(static_cast<unsigned char>(c)) != 0;
}

// "2F3" of "2F3, all_reduce of tp[0,1]"; "" of what is no action.
std::string_view action_in(std::string_view work) {
  const std::string_view name = work.substr(0, work.find(','));
  const bool is_action = name.size() >= 3 && is_digit(name.front()) && is_digit(name.back());
  return is_action ? name : std::string_view();
}

// The first piece of an action on its compute stream takes all of its time, so that it depends on no count of
// pieces. What brings its inputs there comes before it.
class CostsByName {
 public:
  explicit CostsByName(std::map<std::string, std::int64_t, std::less<>> costs) : costs_(std::move(costs)) {}

  std::int64_t operator()(const Given& given) {
    if (given.work == nullptr) return 0;  // freed memory is poisoned, in the middle of anything
    const int stream = given.place % num_streams;
    const bool of_role = static_cast<std::size_t>(stream) < stream_roles.size();
    if (!of_role || !computes(stream_roles[static_cast<std::size_t>(stream)]))
      return stream == static_cast<int>(StreamRole::communicate) || stream == collective_stream
                 ? cost("communicate")
                 : 0;
    if (std::string_view(given.op) == "copy") return 0;
    const std::string_view action = action_in(*given.work);
    const bool goes_on = std::exchange(last_[given.place], std::string(action)) == action;
    if (goes_on || action.empty()) return cost("compute");
    const auto kind = action.find_first_not_of("0123456789");
    return cost("compute") + (kind == std::string_view::npos ? 0 : cost(action.substr(kind, 1)));
  }

 private:
  std::int64_t cost(std::string_view name) const {
    const auto found = costs_.find(name);
    return found == costs_.end() ? 0 : found->second;
  }

  const std::map<std::string, std::int64_t, std::less<>> costs_;  // nanoseconds
  std::map<int, std::string> last_;                               // by place: the action of its last piece
};

}  // namespace

void plant(PlantedTimes times) {
  planted().set(std::move(times));
}

std::function<std::int64_t(const Given&)> costs_of(const std::string& text) {
  constexpr std::array<std::string_view, 6> known{"F", "B", "I", "W", "compute", "communicate"};
  std::map<std::string, std::int64_t, std::less<>> costs;
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::string_view entry = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(entry.size() + 1, rest.size()));
    const auto equals = entry.find('=');
    const std::string_view name = entry.substr(0, equals);
    const std::string_view number = equals == std::string_view::npos ? "" : entry.substr(equals + 1);
    double ms = -1;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), ms);
    const bool is_known = std::find(known.begin(), known.end(), name) != known.end();
    D9D_REQUIRE(
        is_known && error == std::errc() && end == number.data() + number.size() && ms >= 0 && ms < 1e6,
        "D9D_DELAYED_COSTS is \"{}\", expected milliseconds by kind: F=2,B=4,I=2,W=2,communicate=0.1", text);
    costs.emplace(name, static_cast<std::int64_t>(std::llround(1e6 * ms)));
  }
  return CostsByName(std::move(costs));
}

std::int64_t host_time_ns() {
  Planted& all = planted();
  if (!all.host) return real_time_ns();
  const std::lock_guard lock(all.mutex);
  return all.times.host_ns ? all.times.host_ns() : real_time_ns();
}

bool is_yet_to_come(std::int64_t reached_ns) {
  const Planted& all = planted();
  return all.costs && !all.host && reached_ns > real_time_ns();
}

void wait_for_planted(std::int64_t reached_ns) {
  while (is_yet_to_come(reached_ns))
    std::this_thread::sleep_for(std::chrono::nanoseconds(reached_ns - real_time_ns()));
}

TimedPiece::TimedPiece(std::int64_t begin_ns, const Given& given)
    : outer_(std::exchange(piece_of_thread(), this)),
      begin_ns_(begin_ns),
      planted_ns_(planted_cost(given)),
      started_ns_(planted_ns_ < 0 ? real_time_ns() : 0) {}

TimedPiece::~TimedPiece() {
  piece_of_thread() = outer_;
}

std::int64_t TimedPiece::end_ns() const {
  return begin_ns_ + (planted_ns_ < 0 ? real_time_ns() - started_ns_ : planted_ns_);
}

std::int64_t end_of_this_piece() {
  D9D_CHECK(piece_of_thread() != nullptr, "no work of a delayed device runs on this thread");
  return piece_of_thread()->end_ns();
}

}  // namespace d9d::delayed
