#include "runtime/devices/delayed/order_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace d9d::delayed {
namespace {

std::string conflict(const Given& now, bool writes, const Given& before, bool wrote, std::uint64_t bytes) {
  return fmt::format(
      "no event orders two accesses to {} bytes of a delayed device: {}, which {} them, does not come behind "
      "{}, which {} them. Let the stream of the first wait for an event behind the second (Device::wait), or "
      "tell that it uses the memory before that is freed (Device::use)",
      bytes, text_of(now), writes ? "writes" : "reads", text_of(before), wrote ? "writes" : "reads");
}

bool is_unknown(const Given& before, const Clock& known) {
  return before.number > 0 && !known.covers(before.place, before.number);
}

std::string use_after_end(const Given& now, const Given& end) {
  return fmt::format(
      "{} touches memory of a delayed device that was freed before: {}. Tensors that a stream works "
      "on have to live until it was given the work",
      text_of(now), text_of(end));
}

bool is_after_end(const Given& now, const Given& before) {
  return before.op == end_of_life && now.op != begin_of_life;
}

}  // namespace

std::string text_of(const Given& given) {
  const std::string in = given.work == nullptr || given.work->empty() ? "" : " in " + *given.work;
  return fmt::format("{} on {}{}", given.op, stream_name(given.place), in);
}

OrderCheck& OrderCheck::of_process() {
  // Memory may be freed after all else, so it is not destroyed.
  static const auto check = new OrderCheck;
  return *check;
}

// The stretch that begins at `at`, or the first one behind it; one that goes across becomes two.
OrderCheck::Stretches::iterator OrderCheck::cut(std::uintptr_t at) {
  const auto next = stretches_.lower_bound(at);
  if (next == stretches_.begin() || (next != stretches_.end() && next->first == at)) return next;
  Stretch& across = std::prev(next)->second;
  if (across.end <= at) return next;
  Stretch behind = across;
  across.end = at;
  return stretches_.emplace_hint(next, at, std::move(behind));
}

std::string OrderCheck::touch(const Given& given, const Clock& known, const std::vector<Touch>& memory) {
  const std::lock_guard lock(mutex_);
  std::string first;
  for (const Touch& touch : memory) {
    std::string found = touch.writes ? write(given, known, touch) : read(given, known, touch);
    if (first.empty()) first = std::move(found);
  }
  return first;
}

std::string OrderCheck::read(const Given& given, const Clock& known, const Touch& touch) {
  std::string found;
  std::uintptr_t next = touch.begin;
  auto stretch = cut(touch.begin);
  cut(touch.end);
  const auto fill = [&](std::uintptr_t end) {
    if (next < end) stretches_.emplace(next, Stretch{end, {}, {given}});
  };
  for (; stretch != stretches_.end() && stretch->first < touch.end; ++stretch) {
    fill(stretch->first);
    Stretch& here = stretch->second;
    next = here.end;
    if (found.empty() && is_after_end(given, here.written)) found = use_after_end(given, here.written);
    if (found.empty() && is_unknown(here.written, known))
      found = conflict(given, false, here.written, true, here.end - stretch->first);
    const auto same = std::find_if(here.read.begin(), here.read.end(),
                                   [&](const Given& other) { return other.place == given.place; });
    same == here.read.end() ? here.read.push_back(given) : void(*same = given);
  }
  fill(touch.end);
  return found;
}

std::string OrderCheck::write(const Given& given, const Clock& known, const Touch& touch) {
  std::string found;
  const auto first = cut(touch.begin);
  const auto last = cut(touch.end);
  for (auto stretch = first; stretch != last && found.empty(); ++stretch) {
    const Stretch& here = stretch->second;
    const std::uint64_t bytes = here.end - stretch->first;
    if (is_unknown(here.written, known)) found = conflict(given, true, here.written, true, bytes);
    if (is_after_end(given, here.written)) found = use_after_end(given, here.written);
    for (const Given& reader : here.read)
      if (found.empty() && is_unknown(reader, known)) found = conflict(given, true, reader, false, bytes);
  }
  const auto behind = stretches_.erase(first, last);
  stretches_.emplace_hint(behind, touch.begin, Stretch{touch.end, given, {}});
  return found;
}

void OrderCheck::forget(std::uintptr_t begin, std::uintptr_t end) {
  const std::lock_guard lock(mutex_);
  const auto first = cut(begin);
  stretches_.erase(first, cut(end));
}

}  // namespace d9d::delayed
