#pragma once
// What the actors of one process share: time, addresses, traces, counts of refused messages. Passed in, so
// that a simulator can pass another one. Outlives every actor.

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "actors/core/activity.hpp"
#include "actors/core/address_book.hpp"
#include "actors/core/connections.hpp"
#include "messages/decode.hpp"
#include "runtime/base/clock.hpp"
#include "runtime/trace/record/recorder.hpp"

namespace d9d {

struct World {
  const Clock& clock;
  trace::Recorder* recorder = nullptr;  // null: no tracing
  Limits limits{};
  AddressBook book{};
  Connections connections{};
  // Membership generation; 0 before the job has formed. Written by the node, read by all.
  std::atomic<std::uint32_t> epoch{0};
  std::atomic<std::uint64_t> refused{0};  // frames dropped: bad bytes, other epoch, repeated, unknown type
  std::atomic<std::uint64_t> undelivered{0};  // frames whose addressee is unknown
  Activities activities{};
  // An actor failed or the job is over. Actors then end one by one, and messages to those
  // that ended are lost.
  std::atomic<bool> ending{false};
  // Returns where a rank is on the mesh, for the lines that its actors log: "pp:1-tp:0". Set once, when the job has
  // formed, before the actors of ranks are spawned; empty before and in tests.
  std::function<std::string(int rank)> coordinates{};
};

// Counts a frame that has no receiver. Logs the first one as a warning, unless the job is ending.
void note_undelivered(World& world, std::string_view text);

}  // namespace d9d
