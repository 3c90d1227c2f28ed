#pragma once
// One record of the flight recorder: a handled message, an action, a collective,
// a file access, a wait, or the value of a counter. Fixed size and trivially
// copyable, because it is written on hot paths and copied between threads.

#include <bit>
#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>

namespace d9d::trace {

enum class Category : std::uint8_t {
  message,     // handling one message
  compute,     // tensor math: F, B, I, W, optimizer
  collective,  // communication between ranks
  io,          // disk
  wait,        // idle by design: no input yet, no credit, another stage's turn
  step,        // one whole training step of a rank, on a separate track: Recorder::actor(steps_track, rank)
  counter,     // not a span: `value` at `start_ns`
  stall,       // inside a compute span of its rank, which waits meanwhile
  launch,      // the host queues work on a device; the device's own spans (device_tracks) say when it ran
  kernel,      // one kernel or copy of a device, inside the device's span (kernel_tracks)
};
std::string_view name_of(Category category);
std::optional<Category> category_from(std::string_view name);

// Steps count from 1; 0 is none yet.
constexpr std::int32_t step_of_span(std::uint64_t step) {
  return step == 0 ? -1 : static_cast<std::int32_t>(step);
}

inline constexpr std::string_view steps_track = "steps";
// The prefix of the tracks of a rank's device: "device compute".
inline constexpr std::string_view device_tracks = "device ";
inline constexpr std::string_view copy_prefix =
    "copy for ";  // there: of what another rank's stage hands over
inline constexpr std::string_view host_wait = "wait for the device";  // a host waits and does nothing else
inline constexpr std::string_view kernel_tracks = "device kernels ";  // by stream

// Times are nanoseconds of Clock::now_ns of this process. Ids come from Recorder::actor and Recorder::intern.
struct Span {
  std::int64_t enqueue_ns = 0;  // when the message was sent; 0: unknown, or not sent (a timer)
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::uint64_t bytes = 0;     // moved or read; for a counter the bits of its double
  std::uint64_t flow_in = 0;   // flow_out of the span that sent the handled message; 0: none
  std::uint64_t flow_out = 0;  // stamped on every message this span sends (Recorder::next_flow); 0: none
  std::uint32_t actor = 0;
  std::uint32_t name = 0;  // message type or action ("2F3")
  std::int32_t step = -1;  // from 1; -1: of no step (the job forms, ends, measures clocks)
  std::int16_t stage = -1;
  std::int16_t microbatch = -1;
  Category category = Category::message;
  bool sent_elsewhere = false;  // enqueue_ns is in the clock of the node that drew flow_in

  double value() const { return std::bit_cast<double>(bytes); }
  bool operator==(const Span&) const = default;
};
static_assert(std::is_trivially_copyable_v<Span> && sizeof(Span) <= 96 &&
              sizeof(Span) % sizeof(std::uint64_t) == 0);

}  // namespace d9d::trace
