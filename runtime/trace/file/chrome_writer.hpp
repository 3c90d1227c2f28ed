#pragma once
// Spans as Chrome / Perfetto JSON (gzip), streamed to disk: a process per rank (and one per node for
// what belongs to no rank), a track per actor, arrows from the sender of a message to its handler,
// graphs for counters. Every slice has its step in its arguments, -1 for what belongs to none. Format:
// "Trace Event Format" (Google); times are microseconds with three decimals, so nanoseconds survive.

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "runtime/trace/file/flow_joiner.hpp"
#include "runtime/trace/file/gzip_file.hpp"
#include "runtime/trace/record/recorder.hpp"

namespace d9d::trace {

// Viewers need the slices of a track to nest. An actor's spans do; for
// whatever does not (overlapping asynchronous work recorded on one actor) this
// finds the first of several lanes where a span nests with its neighbours.
class Lanes {
 public:
  // The lane for [start, end): its spans contain it, are contained by it, or do not touch it. Looks back over
  // the last `history` spans of each lane.
  std::size_t place(std::int64_t start_ns, std::int64_t end_ns);

 private:
  static constexpr std::size_t history = 64;
  struct Interval {
    std::int64_t start;
    std::int64_t end;
  };
  std::vector<std::deque<Interval>> lanes_;
};

struct TraceInfo {
  std::string job;
  int node = 0;
  int world_size = 1;
  std::int64_t base_ns = 0;       // Clock::now_ns that becomes ts = 0
  std::int64_t base_wall_ns = 0;  // Clock::wall_ns at the same moment
};

// For Holistic Trace Analysis and other tools that read PyTorch profiler files: one file per rank,
// with compute and collectives as kernels on streams, and collectives named as NCCL kernels.
struct KinetoRank {
  int rank = 0;
};

class ChromeWriter {
 public:
  ChromeWriter(const std::filesystem::path& path, TraceInfo info,
               std::optional<KinetoRank> kineto = std::nullopt);

  // Adds a recording. Call it any number of times, with the recordings of many nodes in any
  // order. `offset_ns` is added to its times (from the recorder's clock to the file's clock);
  // `host` is for people.
  void add(const Recording& recording, std::int64_t offset_ns = 0, std::string_view host = {});

  // Closes the file under its name. The offset from the local clock to node 0's clock is kept
  // as metadata for merging.
  void finish(std::int64_t offset_to_node0_ns = 0, std::int64_t offset_error_ns = 0);

 private:
  struct Track {
    ActorName actor;
    int pid = 0;
    Lanes lanes;
    std::vector<int> tids;  // per lane; empty: only counters
  };

  void head();
  Track& track_of(const ActorName& actor, std::string_view host);
  int tid_of(Track& track, std::size_t lane);
  void name_process(const ActorName& actor, std::string_view host, int pid);
  void slice(Track& track, const Span& span, std::string_view quoted_name, std::int64_t shift_ns);
  void slice_args(const Span& span);
  void counter(const Track& track, const Span& span, std::string_view name, std::int64_t shift_ns);
  void arrow(const FlowJoiner::Arrow& arrow);
  void begin_event();
  void flush_over(std::size_t bytes);

  const TraceInfo info_;
  const std::optional<KinetoRank> kineto_;
  GzipWriter file_;
  fmt::memory_buffer text_;
  std::map<std::tuple<int, int, std::string>, Track> tracks_;  // by node, rank and name
  std::set<int> named_pids_;
  FlowJoiner flows_;
  std::uint64_t next_arrow_ = 1;
  std::uint64_t arrows_left_out_ = 0;
  int next_tid_ = 1;
  std::uint64_t lost_ = 0;
  bool first_event_ = true;
};

}  // namespace d9d::trace
