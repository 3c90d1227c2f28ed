#include "runtime/trace/file/chrome_reader.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <istream>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "runtime/base/error.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/trace/file/chrome_format.hpp"

namespace d9d::trace {
namespace {

using Json = nlohmann::json;

// While times are relative to the file's zero, 0 is a time like any other.
constexpr std::int64_t not_queued = std::numeric_limits<std::int64_t>::min();

// Thirty years; sums of a few of them fit.
constexpr double microseconds_max = 1e15;

std::int64_t nanoseconds(const Json& event, const char* key) {
  const double microseconds = event.at(key).get<double>();
  D9D_REQUIRE(std::abs(microseconds) <= microseconds_max,
              "a slice has {} {}; expected microseconds, at most {:.0e}", key, microseconds,
              microseconds_max);
  return std::llround(microseconds * 1000.0);
}

std::int64_t duration(const Json& event) {
  const std::int64_t dur = nanoseconds(event, "dur");
  D9D_REQUIRE(dur >= 0, "a slice has dur {}; expected at least 0", json_text(event.at("dur")));
  return dur;
}

std::uint64_t flow_id(const Json& args, const char* key) {
  const auto found = args.find(key);
  if (found == args.end()) return 0;
  const auto& text = found->get_ref<const std::string&>();
  std::uint64_t id = 0;
  std::from_chars(text.data(), text.data() + text.size(), id, 16);
  return id;
}

// Takes the events one by one while the file is parsed, so that memory holds spans and never the document.
class EventReader {
 public:
  void event(const Json& event) {
    const auto& phase = event.at("ph").get_ref<const std::string&>();
    if (phase == "M") metadata(event);
    if (phase == "X") slice(event);
    if (phase == "C") counter(event);
  }

  // Metadata may come after the slices that it names.
  Recording take() {
    std::vector<std::uint32_t> actors;
    for (const auto& [pid, tid] : tracks_) actors.push_back(actor_of(pid, tid));
    for (Span& span : recording_.spans) span.actor = actors[span.actor];
    recording_.names = names_.texts();
    recording_.actors = std::move(actors_);
    return std::move(recording_);
  }

 private:
  void metadata(const Json& event) {
    const int pid = event.at("pid");
    const Json& args = event.at("args");
    if (event.at("name") == "process_name") {
      processes_[pid] = {"", args.at("rank").get<int>(), args.at("node").get<int>()};
    }
    if (event.at("name") == "thread_name") {
      threads_[{pid, event.at("tid").get<int>()}] = args.at("actor").get<std::string>();
    }
  }

  // What it is called is known when all is read.
  std::uint32_t track(int pid, std::optional<int> tid) {
    const auto [known, is_new] = numbers_.try_emplace({pid, tid}, static_cast<std::uint32_t>(tracks_.size()));
    if (is_new) tracks_.emplace_back(pid, tid);
    return known->second;
  }

  std::uint32_t actor_of(int pid, std::optional<int> tid) {
    const auto process = processes_.find(pid);
    D9D_REQUIRE(process != processes_.end(), "no process_name says what pid {} is", pid);
    ActorName actor = process->second;
    if (!tid) return actor_id(actor);
    const auto thread = threads_.find({pid, *tid});
    D9D_REQUIRE(thread != threads_.end(), "no thread_name says what tid {} of pid {} is", *tid, pid);
    actor.name = thread->second;
    return actor_id(actor);
  }

  void slice(const Json& event) {
    const Json& args = event.at("args");
    const auto category = category_from(event.at("cat").get_ref<const std::string&>());
    D9D_REQUIRE(category, "unknown category {}", json_text(event.at("cat")));
    Span span;
    span.category = *category;
    span.name = names_.intern(event.at("name").get_ref<const std::string&>());
    span.actor = track(event.at("pid").get<int>(), event.at("tid").get<int>());
    span.start_ns = nanoseconds(event, "ts");
    span.end_ns = span.start_ns + duration(event);
    span.enqueue_ns = args.contains("queue_us") ? span.start_ns - nanoseconds(args, "queue_us") : not_queued;
    span.step = args.value("step", -1);
    span.stage = args.value("stage", std::int16_t{-1});
    span.microbatch = args.value("microbatch", std::int16_t{-1});
    span.bytes = args.value("bytes", std::uint64_t{0});
    span.flow_in = flow_id(args, "flow_in");
    span.flow_out = flow_id(args, "flow_out");
    recording_.spans.push_back(span);
  }

  void counter(const Json& event) {
    const Json& value = event.at("args").at("value");
    Span span;
    span.category = Category::counter;
    span.actor = track(event.at("pid").get<int>(), std::nullopt);
    span.name = names_.intern(event.at("name").get_ref<const std::string&>());
    span.start_ns = span.end_ns = nanoseconds(event, "ts");
    span.enqueue_ns = not_queued;
    span.bytes = std::bit_cast<std::uint64_t>(value.is_null() ? std::nan("") : value.get<double>());
    recording_.spans.push_back(span);
  }

  std::uint32_t actor_id(const ActorName& actor) {
    const auto known = std::find(actors_.begin(), actors_.end(), actor);
    if (known != actors_.end()) return static_cast<std::uint32_t>(known - actors_.begin());
    actors_.push_back(actor);
    return static_cast<std::uint32_t>(actors_.size() - 1);
  }

  Recording recording_;
  Names names_;
  std::vector<ActorName> actors_;
  std::map<int, ActorName> processes_;
  std::map<std::pair<int, int>, std::string> threads_;
  using TrackKey = std::pair<int, std::optional<int>>;  // pid and tid; of counters without
  std::vector<TrackKey> tracks_;                        // in the order in which they came
  std::map<TrackKey, std::uint32_t> numbers_;
};

// Parses the document, giving every element of "traceEvents" to `events`; returns the rest.
Json parse(std::istream& stream, EventReader& events) {
  std::string top_key;
  return Json::parse(stream, [&](int depth, Json::parse_event_t happened, Json& parsed) {
    if (happened == Json::parse_event_t::key && depth == 1) top_key = parsed.get<std::string>();
    if (happened != Json::parse_event_t::object_end || depth != 2 || top_key != "traceEvents") return true;
    events.event(parsed);
    return false;
  });
}

LoadedTrace checked(const Json& rest, Recording recording) {
  D9D_REQUIRE(rest.is_object() && rest.contains(trace_format_key), "it has no \"{}\" part", trace_format_key);
  const Json& d9d = rest.at(trace_format_key);
  const int version = d9d.at("version");
  D9D_REQUIRE(version == trace_format_version, "it has version {}, this program reads version {}", version,
              trace_format_version);
  D9D_REQUIRE(d9d.at("style") == "d9d", "it was exported for other tools; give the file it was made from");
  LoadedTrace trace{.recording = std::move(recording)};
  trace.info = {.job = d9d.at("job"),
                .node = d9d.at("node"),
                .world_size = d9d.at("world_size"),
                .base_ns = d9d.at("base_ns"),
                .base_wall_ns = rest.at("baseTimeNanoseconds")};
  trace.offset_error_ns = d9d.at("offset_error_ns");
  trace.recording.lost = d9d.at("lost_spans");
  const std::int64_t shift = trace.info.base_ns + d9d.at("offset_to_node0_ns").get<std::int64_t>();
  for (Span& span : trace.recording.spans) {
    span.start_ns += shift;
    span.end_ns += shift;
    span.enqueue_ns = span.enqueue_ns == not_queued ? 0 : span.enqueue_ns + shift;
  }
  trace.info.base_ns = shift;
  return trace;
}

void sort_by_start(std::vector<Span>& spans) {
  std::stable_sort(spans.begin(), spans.end(),
                   [](const Span& a, const Span& b) { return a.start_ns < b.start_ns; });
}

}  // namespace

LoadedTrace read_chrome_trace(const std::filesystem::path& path) {
  std::error_code error;
  D9D_REQUIRE(!std::filesystem::is_directory(path, error), "{} is a folder; give the trace files in it",
              path.string());
  GzipReadBuffer buffer(path);
  std::istream stream(&buffer);
  stream.exceptions(std::ios::badbit);  // a read error keeps its text
  try {
    EventReader events;
    const Json rest = parse(stream, events);
    LoadedTrace trace = checked(rest, events.take());
    sort_by_start(trace.recording.spans);
    return trace;
  } catch (const Error& caught) {
    if (caught.kind() != ErrorKind::input) throw;
    throw Error(ErrorKind::input, fmt::format("{} is no trace of d9d: {}", path.string(), caught.what()));
  } catch (const std::exception& caught) {
    throw Error(ErrorKind::input,
                fmt::format("{} is no trace of d9d, or it is cut short: {}. Give a file that "
                            "d9d-node wrote under traces/",
                            path.string(), caught.what()));
  }
}

LoadedTrace merge(const std::vector<LoadedTrace>& traces) {
  D9D_REQUIRE(!traces.empty(), "no trace file given");
  LoadedTrace all{.info = traces.front().info};
  Names names;
  std::map<std::tuple<int, int, std::string>, std::uint32_t> actors;
  for (const LoadedTrace& trace : traces) {
    std::vector<std::uint32_t> name_ids, actor_ids;
    for (const std::string& name : trace.recording.names) name_ids.push_back(names.intern(name));
    for (const ActorName& actor : trace.recording.actors) {
      const auto next = static_cast<std::uint32_t>(actors.size());
      const auto [entry, is_new] = actors.try_emplace({actor.node, actor.rank, actor.name}, next);
      if (is_new) all.recording.actors.push_back(actor);
      actor_ids.push_back(entry->second);
    }
    for (Span span : trace.recording.spans) {
      span.name = name_ids[span.name];
      span.actor = actor_ids[span.actor];
      all.recording.spans.push_back(span);
    }
    all.recording.lost += trace.recording.lost;
    all.info.base_ns = std::min(all.info.base_ns, trace.info.base_ns);
    all.info.world_size = std::max(all.info.world_size, trace.info.world_size);
    all.offset_error_ns = std::max(all.offset_error_ns, trace.offset_error_ns);
  }
  all.recording.names = names.texts();
  sort_by_start(all.recording.spans);
  return all;
}

std::vector<std::filesystem::path> export_for_profilers(const LoadedTrace& trace,
                                                        const std::filesystem::path& folder) {
  std::set<int> ranks;
  for (const ActorName& actor : trace.recording.actors) {
    if (actor.rank >= 0) ranks.insert(actor.rank);
  }
  std::vector<std::filesystem::path> paths;
  for (const int rank : ranks) {
    paths.push_back(folder / fmt::format("rank{}.json.gz", rank));
    ChromeWriter writer(paths.back(), trace.info, KinetoRank{rank});
    writer.add(trace.recording);
    writer.finish();
  }
  return paths;
}

}  // namespace d9d::trace
