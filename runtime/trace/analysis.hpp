#pragma once
// Computes where a step's time went, as `d9d-node trace` prints it. All durations are nanoseconds.

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/trace/kernel_report.hpp"
#include "runtime/trace/record/recorder.hpp"

namespace d9d::trace {

// A rank's time within its steps. Each moment counts once, for the first of these that is going
// on. If the rank's device has tracks, only their spans count, and all other time is a bubble:
// the device is idle.
struct TimeSplit {
  std::int64_t compute = 0;                // a compute span that is not stalled
  std::int64_t exposed_communication = 0;  // a collective, and no compute that hides it
  std::int64_t bubble = 0;                 // a wait span, or nothing at all
  std::int64_t other = 0;                  // an actor handling a message, or a disk
  std::int64_t mailbox_wait = 0;           // a message waits in a mailbox and none of the above goes on
  std::int64_t total() const { return compute + exposed_communication + bubble + other + mailbox_wait; }
};

struct RankReport {
  int rank = 0;
  int steps = 0;
  TimeSplit time;
  std::int64_t communication = 0;  // exposed or not
};

// Messages of one type between two actors.
struct EdgeReport {
  std::string sender;  // "?": not in this trace
  std::string receiver;
  std::string message;
  std::int64_t count = 0;
  std::int64_t queue_total =
      0;  // from being sent to being handled: in the mailbox, and on the way between nodes
  std::int64_t queue_max = 0;
  std::uint64_t bytes = 0;
};

struct ActorReport {
  std::string actor;
  std::int64_t messages = 0;
  std::int64_t busy = 0;  // in any span except wait and step
};

struct StepReport {
  int count = 0;  // distinct step numbers
  std::int64_t mean = 0;
  std::int64_t median = 0;
  std::int64_t max = 0;
  int max_step = -1;
  int max_rank = -1;
};

struct Analysis {
  std::vector<RankReport> ranks;
  StepReport steps;                 // of all ranks
  std::vector<EdgeReport> edges;    // by queue_total, the worst first
  std::vector<ActorReport> actors;  // by busy, the busiest first
  KernelReport kernels;
  std::uint64_t lost = 0;  // spans that were overwritten before they were read

  // Shares of all ranks' step time; 0 without steps.
  double outside_compute_and_collectives() const;
  double other_share() const;
};

// Steps are the spans of Category::step. A rank without such spans gets its steps from the first
// compute or collective span of each step number. Spans of no rank, and of ranks that trained no
// step, count for edges and actors only.
Analysis analyze(const Recording& recording);

// Prints for people (the `top` worst edges and actors) and for programs (JSON with
// everything, durations in ns).
std::string to_text(const Analysis& analysis, std::size_t top = 10);
std::string to_json(const Analysis& analysis);

}  // namespace d9d::trace
