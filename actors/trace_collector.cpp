#include "actors/trace_collector.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

#include "runtime/base/error.hpp"
#include "runtime/base/log.hpp"
#include "runtime/trace/file/chrome_writer.hpp"
#include "runtime/trace/file/trace_file.hpp"

namespace d9d {
namespace {

constexpr std::size_t spans_per_message = 8192;  // 72 bytes each, well below the limit of a message
constexpr std::chrono::seconds probe_period{2};
enum TickKind : std::uint32_t { probe_clock = 0, write_now = 1 };
constexpr int first_probes = 16;  // one after the other; the shortest round trip counts

trace::Recording recording_of(wire::Spans::Reader message) {
  trace::Recording recording;
  for (const auto name : message.getNames()) recording.names.emplace_back(name);
  for (const auto track : message.getActors()) {
    recording.actors.push_back({track.getName(), track.getRank(), static_cast<int>(message.getNode())});
  }
  const auto bytes = message.getSpans();
  recording.spans.resize(bytes.size() / sizeof(trace::Span));
  if (!recording.spans.empty()) {
    std::memcpy(recording.spans.data(), bytes.begin(), recording.spans.size() * sizeof(trace::Span));
  }
  recording.lost = message.getLost();
  for (const trace::Span& span : recording.spans) {
    D9D_REQUIRE(span.name < recording.names.size() && span.actor < recording.actors.size(),
                "node {} sent a span of an unknown name or actor", message.getNode());
  }
  return recording;
}

std::int64_t first_moment(const std::vector<trace::NodeRecording>& parts) {
  std::int64_t first = std::numeric_limits<std::int64_t>::max();
  for (const trace::NodeRecording& part : parts) {
    for (const trace::Span& span : part.recording.spans)
      first = std::min(first, span.start_ns + part.offset_ns);
  }
  return first;
}

}  // namespace

TraceCollector::TraceCollector(World& world, TraceCollectorOptions options)
    : Actor(world),
      options_(std::move(options)),
      base_ns_(world.clock.now_ns()),
      base_wall_ns_(world.clock.wall_ns()) {}

void TraceCollector::behavior(Handlers& handlers) {
  handlers.on(this, &TraceCollector::start_training);
  handlers.on(this, &TraceCollector::flush_trace);
  handlers.on(this, &TraceCollector::spans);
  handlers.on(this, &TraceCollector::clock_probe);
  handlers.on(this, &TraceCollector::clock_reply);
  handlers.on(this, &TraceCollector::tick);
}

// Clock probes start now, because node 0's collector exists now.
void TraceCollector::start_training(wire::StartTraining::Reader /*message*/) {
  if (options_.node == 0) return;
  probe();
  tell_self_after<wire::Tick>(probe_period, [](wire::Tick::Builder) {});
}

void TraceCollector::tick(wire::Tick::Reader message) {
  if (message.getKind() == write_now) {
    // The deadline is over: the file lacks the nodes that did not answer.
    if (gathered_.contains("")) conclude("");
    return;
  }
  probe();
  tell_self_after<wire::Tick>(probe_period, [](wire::Tick::Builder) {});
}

void TraceCollector::probe() {
  ++probes_;
  tell<wire::ClockProbe>({Role::trace_collector, 0}, [&](wire::ClockProbe::Builder message) {
    message.setSentNs(world().clock.now_ns());
  });
}

void TraceCollector::clock_probe(wire::ClockProbe::Reader message) {
  tell<wire::ClockReply>(sender(), [&](wire::ClockReply::Builder reply) {
    reply.setSentNs(message.getSentNs());
    reply.setReceivedNs(world().clock.now_ns());
  });
}

void TraceCollector::clock_reply(wire::ClockReply::Reader message) {
  offset_.add(
      {message.getSentNs(), message.getReceivedNs(), message.getReceivedNs(), world().clock.now_ns()});
  if (probes_ < first_probes) probe();
}

void TraceCollector::flush_trace(wire::FlushTrace::Reader message) {
  D9D_CHECK(world().recorder != nullptr, "a trace was asked for, but node.trace is off");
  trace::Recording recording = world().recorder->snapshot();
  if (const std::int32_t first = message.getFromStep(); first >= 0) {
    std::erase_if(recording.spans, [first](const trace::Span& span) { return span.step < first; });
  }
  send(recording, message);
  if (options_.node != 0 || message.getDeadlineMs() == 0) return;
  tell_self_after<wire::Tick>(std::chrono::milliseconds(message.getDeadlineMs()),
                              [](wire::Tick::Builder tick) { tick.setKind(write_now); });
}

void TraceCollector::send(const trace::Recording& recording, wire::FlushTrace::Reader request) {
  const std::size_t count = recording.spans.size();
  for (std::size_t first = 0;; first += spans_per_message) {
    const std::size_t size = std::min(spans_per_message, count - std::min(first, count));
    const bool last = first + size >= count;
    tell<wire::Spans>({Role::trace_collector, 0}, [&](wire::Spans::Builder part) {
      part.setLabel(request.getLabel());
      part.setNode(static_cast<std::uint32_t>(options_.node));
      auto names = part.initNames(static_cast<unsigned>(recording.names.size()));
      for (unsigned i = 0; i < names.size(); ++i) names.set(i, recording.names[i]);
      auto actors = part.initActors(static_cast<unsigned>(recording.actors.size()));
      for (unsigned i = 0; i < actors.size(); ++i) {
        actors[i].setName(recording.actors[i].name);
        actors[i].setRank(recording.actors[i].rank);
      }
      part.setSpans(
          {reinterpret_cast<const kj::byte*>(recording.spans.data() + first), size * sizeof(trace::Span)});
      part.setLost(first == 0 ? recording.lost : 0);
      part.setLast(last);
      part.setNodes(request.getNodes());
      part.setOffsetNs(offset_.offset_ns());
    });
    if (last) break;
  }
}

void TraceCollector::spans(wire::Spans::Reader message) {
  const std::string label = message.getLabel();
  Gathered& gathered = gathered_[label];
  gathered.parts.push_back(
      {static_cast<int>(message.getNode()), message.getOffsetNs(), recording_of(message)});
  if (message.getLast() && ++gathered.nodes_done >= message.getNodes()) conclude(label);
}

void TraceCollector::conclude(const std::string& label) {
  Gathered gathered = std::move(gathered_.extract(label).mapped());
  std::string failure;
  std::string path;
  try {
    path = write(label, std::move(gathered.parts));
  } catch (const Error& error) {
    failure = error.what();
  }
  const bool asked_by_coordinator = label.empty();
  if (!asked_by_coordinator) {
    if (!failure.empty()) return log::warn("a trace was not written: {}", failure);
    return log::info("wrote the trace {}", path);
  }
  tell<wire::TraceWritten>({Role::coordinator, 0}, [&](wire::TraceWritten::Builder written) {
    written.setPath(path);
    written.setFailure(failure);
  });
}

std::string TraceCollector::write(const std::string& label, std::vector<trace::NodeRecording> parts) {
  const trace::TraceFile file(options_.directory, label);
  const std::int64_t error_ns = trace::align_clocks(parts);
  // Time zero is the start of this actor, or of the first span if that is earlier: readers
  // may drop negative times.
  const std::int64_t base_ns = std::min(base_ns_, first_moment(parts));
  trace::ChromeWriter writer(file.draft(), {.job = options_.job,
                                            .node = options_.node,
                                            .world_size = options_.world_size,
                                            .base_ns = base_ns,
                                            .base_wall_ns = base_wall_ns_ - (base_ns_ - base_ns)});
  for (const trace::NodeRecording& part : parts) writer.add(part.recording, part.offset_ns);
  writer.finish(0, error_ns);
  return file.publish().string();
}

}  // namespace d9d
