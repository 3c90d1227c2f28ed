#include "tests/support/trace/trace_file.hpp"

#include <algorithm>
#include <cmath>
#include <istream>
#include <nlohmann/json.hpp>

#include "runtime/trace/file/gzip_file.hpp"

namespace d9d::test {
namespace {

using nlohmann::json;

std::int64_t nanoseconds(const json& event, const char* key) {
  return std::llround(event.at(key).get<double>() * 1000.0);
}

std::pair<int, int> place_of(const json& event) {
  return {event.at("pid").get<int>(), event.at("tid").get<int>()};
}

}  // namespace

TraceFile::TraceFile(const std::filesystem::path& path) {
  trace::GzipReadBuffer buffer(path);
  std::istream stream(&buffer);
  const json events = json::parse(stream).at("traceEvents");

  std::map<int, Track> processes;
  for (const json& event : events) {
    if (event.at("ph") != "M") continue;
    const json& args = event.at("args");
    const std::string what = event.at("name");
    const int pid = event.at("pid");
    if (what == "process_name") processes[pid] = {args.at("name"), "", args.at("rank"), args.at("node")};
    if (what == "thread_name") {
      Track& track = tracks_[place_of(event)] = processes.at(pid);
      track.name = args.at("actor");
    }
    if (what == "thread_sort_index") tracks_.at(place_of(event)).sort_index = args.at("sort_index");
  }
  std::map<std::pair<int, int>, std::vector<std::size_t>> by_place;
  for (const json& event : events) {
    if (event.at("ph") != "X") continue;
    const Track& track = tracks_.at(place_of(event));
    const json& args = event.at("args");
    const std::int64_t start = nanoseconds(event, "ts");
    by_place[place_of(event)].push_back(slices_.size());
    slices_.push_back({track.process, track.name, event.at("name"), event.at("cat"), track.rank, track.node,
                       start, start + nanoseconds(event, "dur"), args.contains("step"),
                       args.value("step", -1), args.value("stage", -1), args.value("flow_in", ""),
                       args.value("flow_out", "")});
  }
  const auto bound = [&](const json& event, std::int64_t ns, const std::string TraceSlice::*flow,
                         const std::string& wanted) -> const TraceSlice* {
    const TraceSlice* innermost = nullptr;
    for (const std::size_t index : by_place[place_of(event)]) {
      const TraceSlice& slice = slices_[index];
      const bool here = slice.start_ns <= ns && ns <= slice.end_ns;
      if (!here || (slice.*flow).empty() || (!wanted.empty() && slice.*flow != wanted)) continue;
      if (innermost == nullptr || slice.start_ns >= innermost->start_ns) innermost = &slice;
    }
    return innermost;
  };
  std::map<std::int64_t, const json*> starts;
  for (const json& event : events) {
    if (event.at("ph") == "s") starts[event.at("id")] = &event;
  }
  for (const json& event : events) {
    if (event.at("ph") != "f") continue;
    const json& start = *starts.at(event.at("id"));
    TraceArrow arrow{nanoseconds(start, "ts"), nanoseconds(event, "ts")};
    arrow.to = bound(event, arrow.came_ns, &TraceSlice::flow_in, "");
    if (arrow.to != nullptr)
      arrow.from = bound(start, arrow.left_ns, &TraceSlice::flow_out, arrow.to->flow_in);
    arrows_.push_back(arrow);
  }
}

std::vector<std::string> TraceFile::tracks_of(const std::string& process) const {
  std::vector<const Track*> found;
  for (const auto& [place, track] : tracks_) {
    if (track.process == process) found.push_back(&track);
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const Track* a, const Track* b) { return a->sort_index < b->sort_index; });
  std::vector<std::string> names;
  for (const Track* track : found) names.push_back(track->name);
  return names;
}

}  // namespace d9d::test
