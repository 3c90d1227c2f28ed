#include "runtime/devices/delayed/stream_waits.hpp"

#include <cctype>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <set>

#include "runtime/device/work_name.hpp"
#include "runtime/devices/delayed/clock.hpp"

namespace d9d::delayed {
namespace {

struct Waits {
  std::mutex mutex;
  std::map<std::string, std::uint64_t> by_kind;
  std::uint64_t count = 0;
  std::string skipped;  // a name, or a number
  bool left_out = false;

  Waits() {
    const char* const given = std::getenv("D9D_SKIP_WAIT");
    if (given != nullptr) skipped = given;
  }
};

Waits& waits() {
  static const auto of_process = std::make_unique<Waits>();
  return *of_process;
}

// Numbers of ranks, stages, layers, the members of groups.
std::string place_of(const std::string& kind) {
  std::string place;
  bool in_group = false;
  for (const char letter : kind) {
    if (letter == '[') in_group = true;
    if (!in_group && std::isdigit(static_cast<unsigned char>(letter)) == 0) place += letter;
    if (letter == ']') in_group = false;
  }
  return place;
}

std::string name_of(const std::string& kind, std::uint64_t number) {
  return kind + ", " + std::to_string(number);
}

}  // namespace

void StreamWaits::restart(const std::string& skipped) {
  Waits& all = waits();
  const std::lock_guard lock(all.mutex);
  all.by_kind.clear();
  all.count = 0;
  all.skipped = skipped;
  all.left_out = false;
}

std::uint64_t StreamWaits::count() {
  const std::lock_guard lock(waits().mutex);
  return waits().count;
}

std::vector<std::string> StreamWaits::names() {
  const std::lock_guard lock(waits().mutex);
  std::vector<std::string> names;
  for (const auto& [kind, count] : waits().by_kind)
    for (std::uint64_t number = 1; number <= count; ++number) names.push_back(name_of(kind, number));
  return names;
}

std::vector<std::string> StreamWaits::places() {
  const std::lock_guard lock(waits().mutex);
  std::set<std::string> places;
  for (const auto& [kind, count] : waits().by_kind) places.insert(place_of(kind));
  return {places.begin(), places.end()};
}

bool StreamWaits::left_out() {
  const std::lock_guard lock(waits().mutex);
  return waits().left_out;
}

bool StreamWaits::skips_next(int waits_place, int for_place) {
  const std::string kind =
      stream_name(waits_place) + " waits for " + stream_name(for_place) + " in " + WorkName::current();
  Waits& all = waits();
  const std::lock_guard lock(all.mutex);
  const std::uint64_t number = ++all.by_kind[kind];
  ++all.count;
  if (all.skipped.empty()) return false;
  const bool skips = all.skipped == std::to_string(all.count) || all.skipped == name_of(kind, number) ||
                     all.skipped == place_of(kind);
  all.left_out |= skips;
  return skips;
}

}  // namespace d9d::delayed
