#pragma once
// TraceCollector: empties the span rings of a process when asked. The one of node 0 gathers the
// spans of all nodes on one clock and writes the trace file. Own thread: it compresses and writes.
// One per node. Parent: Node.
// hears StartTraining FlushTrace Spans ClockReply ClockProbe Tick
// says Spans TraceWritten ClockProbe ClockReply

#include <map>
#include <string>
#include <vector>

#include "actors/core/actor.hpp"
#include "messages/cluster.capnp.h"
#include "messages/trace.capnp.h"
#include "runtime/trace/clock_alignment.hpp"
#include "runtime/trace/clock_offset.hpp"

namespace d9d {

struct TraceCollectorOptions {
  int node = 0;
  int world_size = 1;
  std::string job;
  std::string directory;  // where the trace files go
};

class TraceCollector final : public Actor {
 public:
  TraceCollector(World& world, TraceCollectorOptions options);
  void behavior(Handlers& handlers) override;

  void start_training(wire::StartTraining::Reader message);
  void flush_trace(wire::FlushTrace::Reader message);
  void spans(wire::Spans::Reader message);
  void clock_probe(wire::ClockProbe::Reader message);
  void clock_reply(wire::ClockReply::Reader message);
  void tick(wire::Tick::Reader message);

 private:
  struct Gathered {
    std::vector<trace::NodeRecording> parts;
    std::size_t nodes_done = 0;
  };
  void probe();
  void send(const trace::Recording& recording, wire::FlushTrace::Reader request);
  void conclude(const std::string& label);
  std::string write(const std::string& label, std::vector<trace::NodeRecording> parts);

  TraceCollectorOptions options_;
  std::int64_t base_ns_;
  std::int64_t base_wall_ns_;
  trace::ClockOffset offset_;
  int probes_ = 0;
  std::map<std::string, Gathered> gathered_;  // by label: flushes of which spans are still missing
};

}  // namespace d9d
