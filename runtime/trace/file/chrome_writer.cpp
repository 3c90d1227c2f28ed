#include "runtime/trace/file/chrome_writer.hpp"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

#include "runtime/base/error.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/trace/file/chrome_format.hpp"
#include "runtime/trace/file/track_order.hpp"

namespace d9d::trace {
namespace {

std::string json_string(std::string_view text) {
  return shown_json(nlohmann::json(text));
}

// The category that PyTorch's profiler gives to the like,
// and the stream where it would run (-1: on the host).
struct KinetoPlace {
  std::string_view category;
  int stream = -1;
};
KinetoPlace kineto_place(Category category) {
  switch (category) {
    case Category::compute:
      return {"kernel", 7};
    case Category::collective:
      return {"kernel", 20};
    case Category::message:
      return {"cpu_op"};
    default:
      return {"user_annotation"};
  }
}

// By start; an outer slice comes before the inner ones that start with it.
std::vector<const Span*> outer_first(const std::vector<Span>& spans) {
  std::vector<const Span*> order;
  order.reserve(spans.size());
  for (const Span& span : spans) order.push_back(&span);
  std::stable_sort(order.begin(), order.end(), [](const Span* a, const Span* b) {
    return a->start_ns != b->start_ns ? a->start_ns < b->start_ns : a->end_ns > b->end_ns;
  });
  return order;
}

}  // namespace

ChromeWriter::ChromeWriter(const std::filesystem::path& path, TraceInfo info,
                           std::optional<KinetoRank> kineto)
    : info_(std::move(info)), kineto_(kineto), file_(path) {
  head();
}

void ChromeWriter::head() {
  auto out = std::back_inserter(text_);
  fmt::format_to(out, "{{\n\"schemaVersion\": 1,\n");
  if (kineto_) {
    fmt::format_to(out, "\"distributedInfo\": {{\"rank\": {}, \"world_size\": {}, \"backend\": \"d9d\"}},\n",
                   kineto_->rank, info_.world_size);
  }
  // Times are stored against this file's own zero; 1970-based microseconds would not fit a double's 53 bits.
  fmt::format_to(out, "\"baseTimeNanoseconds\": {},\n\"displayTimeUnit\": \"ms\",\n\"traceEvents\": [",
                 info_.base_wall_ns);
}

void ChromeWriter::add(const Recording& recording, std::int64_t offset_ns, std::string_view host) {
  const std::int64_t shift_ns = offset_ns - info_.base_ns;
  std::vector<std::string> quoted_names;
  for (const std::string& name : recording.names) quoted_names.push_back(json_string(name));
  std::vector<Track*> tracks(recording.actors.size(), nullptr);
  for (const Span* span : outer_first(recording.spans)) {
    D9D_CHECK(span->actor < tracks.size() && span->name < quoted_names.size(),
              "a span of actor {} named {}, but there are {} actors and {} names", span->actor, span->name,
              tracks.size(), quoted_names.size());
    const ActorName& actor = recording.actors[span->actor];
    // Tools for that format would count kernels and the actions around them.
    if (kineto_ && (actor.rank != kineto_->rank || span->category == Category::kernel)) continue;
    Track*& track = tracks[span->actor];
    if (track == nullptr) track = &track_of(actor, host);
    if (span->category == Category::counter) {
      counter(*track, *span, recording.names[span->name], shift_ns);
    } else {
      slice(*track, *span, quoted_names[span->name], shift_ns);
    }
    flush_over(1 << 18);
  }
  lost_ += recording.lost;
}

void ChromeWriter::begin_event() {
  text_.push_back(first_event_ ? '\n' : ',');
  if (!first_event_) text_.push_back('\n');
  first_event_ = false;
}

ChromeWriter::Track& ChromeWriter::track_of(const ActorName& actor, std::string_view host) {
  const auto [entry, is_new] = tracks_.try_emplace({actor.node, actor.rank, actor.name});
  Track& track = entry->second;
  if (is_new) {
    track.actor = actor;
    track.pid = actor.rank >= 0 ? rank_pid(actor.rank) : node_pid(actor.node);
    name_process(actor, host, track.pid);
  }
  return track;
}

void ChromeWriter::name_process(const ActorName& actor, std::string_view host, int pid) {
  if (!named_pids_.insert(pid).second) return;
  const std::string node = fmt::format("node {}{}{}", actor.node, host.empty() ? "" : ", ", host);
  const std::string name = actor.rank >= 0 ? fmt::format("rank {} ({})", actor.rank, node) : node;
  begin_event();
  fmt::format_to(std::back_inserter(text_),
                 R"({{"ph":"M","name":"process_name","pid":{},"args":{{"name":{},"node":{},"rank":{}}}}})",
                 pid, json_string(name), actor.node, actor.rank);
  begin_event();
  fmt::format_to(std::back_inserter(text_),
                 R"({{"ph":"M","name":"process_sort_index","pid":{},"args":{{"sort_index":{}}}}})", pid,
                 actor.rank >= 0 ? actor.rank : -1'000'000 + actor.node);
}

int ChromeWriter::tid_of(Track& track, std::size_t lane) {
  while (track.tids.size() <= lane) {
    const int tid = next_tid_++;
    const std::size_t number = track.tids.size();
    track.tids.push_back(tid);
    const std::string& actor = track.actor.name;
    const std::string name = number == 0 ? actor : fmt::format("{} (lane {})", actor, number + 1);
    begin_event();
    fmt::format_to(std::back_inserter(text_),
                   R"({{"ph":"M","name":"thread_name","pid":{},"tid":{},"args":{{"name":{},"actor":{}}}}})",
                   track.pid, tid, json_string(name), json_string(actor));
    begin_event();
    fmt::format_to(std::back_inserter(text_),
                   R"({{"ph":"M","name":"thread_sort_index","pid":{},"tid":{},"args":{{"sort_index":{}}}}})",
                   track.pid, tid, track_order(actor, static_cast<int>(number)));
  }
  return track.tids[lane];
}

void ChromeWriter::slice(Track& track, const Span& span, std::string_view quoted_name,
                         std::int64_t shift_ns) {
  const int tid = tid_of(track, track.lanes.place(span.start_ns + shift_ns, span.end_ns + shift_ns));
  const KinetoPlace place = kineto_place(span.category);
  auto out = std::back_inserter(text_);
  begin_event();
  fmt::format_to(out, R"({{"ph":"X","cat":"{}","name":)", kineto_ ? place.category : name_of(span.category));
  if (span.category == Category::step) {
    fmt::format_to(out, R"("ProfilerStep#{}")", span.step);
  } else if (kineto_ && span.category == Category::collective) {
    fmt::format_to(out, R"("ncclKernel {})", quoted_name.substr(1));
  } else {
    fmt::format_to(out, "{}", quoted_name);
  }
  const std::int64_t duration_ns = std::max<std::int64_t>(span.end_ns - span.start_ns, 0);
  fmt::format_to(out, R"(,"pid":{},"tid":{},"ts":{},"dur":{},"args":{{)", track.pid, tid,
                 Micros{span.start_ns + shift_ns}, Micros{duration_ns});
  if (kineto_) fmt::format_to(out, "\"stream\":{},", place.stream);
  slice_args(span);
  const Slice placed{track.pid, tid, span.start_ns + shift_ns, span.start_ns + shift_ns + duration_ns,
                     span.enqueue_ns == 0 ? 0 : span.enqueue_ns + shift_ns};
  for (const auto& joined : flows_.see(placed, span.flow_in, span.flow_out)) arrow(joined);
}

// Ends the event. Flow ids are text, because 64 bits do not fit a JSON number.
void ChromeWriter::slice_args(const Span& span) {
  auto out = std::back_inserter(text_);
  fmt::format_to(out, "\"step\":{},", span.step);
  if (span.stage >= 0) fmt::format_to(out, "\"stage\":{},", span.stage);
  if (span.microbatch >= 0) fmt::format_to(out, "\"microbatch\":{},", span.microbatch);
  if (span.bytes != 0) fmt::format_to(out, "\"bytes\":{},", span.bytes);
  if (span.flow_in != 0) fmt::format_to(out, "\"flow_in\":\"{:x}\",", span.flow_in);
  if (span.flow_out != 0) fmt::format_to(out, "\"flow_out\":\"{:x}\",", span.flow_out);
  if (span.enqueue_ns != 0) fmt::format_to(out, "\"queue_us\":{},", Micros{span.start_ns - span.enqueue_ns});
  text_.resize(text_.size() - 1);  // the last comma
  fmt::format_to(out, "}}}}");
}

void ChromeWriter::counter(const Track& track, const Span& span, std::string_view name,
                           std::int64_t shift_ns) {
  const std::string label =
      fmt::format("{}{}{}", track.actor.name, track.actor.name.empty() ? "" : " ", name);
  const nlohmann::json value = span.value();  // prints NaN and infinity as null
  begin_event();
  fmt::format_to(std::back_inserter(text_),
                 R"({{"ph":"C","name":{},"pid":{},"ts":{},"args":{{"value":{}}}}})", json_string(label),
                 track.pid, Micros{span.start_ns + shift_ns}, json_text(value));
}

// One arrow per message, so that a span that sends to many has many. It leaves where the message was sent, within
// the sender's slice, and never goes back in time: where clocks of nodes drift apart, a viewer would draw it as a
// message from the future.
void ChromeWriter::arrow(const FlowJoiner::Arrow& arrow) {
  const std::int64_t sent = arrow.to.enqueue_ns == 0 ? arrow.from.end_ns : arrow.to.enqueue_ns;
  const std::int64_t left = std::min(std::clamp(sent, arrow.from.start_ns, arrow.from.end_ns),
                                     std::max(arrow.to.end_ns, arrow.from.start_ns));
  const std::int64_t came = std::max(arrow.to.start_ns, left);
  if (came > arrow.to.end_ns) {
    ++arrows_left_out_;
    return;
  }
  const std::uint64_t id = next_arrow_++;
  const auto point = [&](std::string_view phase, const Slice& slice, std::int64_t ns) {
    begin_event();
    fmt::format_to(std::back_inserter(text_),
                   R"({{"ph":{},"cat":"flow","name":"message","id":{},"pid":{},"tid":{},"ts":{}}})", phase,
                   id, slice.pid, slice.tid, Micros{ns});
  };
  point(R"("s")", arrow.from, left);
  point(R"("f","bp":"e")", arrow.to, came);
}

void ChromeWriter::flush_over(std::size_t bytes) {
  if (text_.size() <= bytes) return;
  file_.write({text_.data(), text_.size()});
  text_.clear();
}

void ChromeWriter::finish(std::int64_t offset_to_node0_ns, std::int64_t offset_error_ns) {
  const nlohmann::json d9d{{"version", trace_format_version},
                           {"job", info_.job},
                           {"node", info_.node},
                           {"world_size", info_.world_size},
                           {"style", kineto_ ? "kineto" : "d9d"},
                           {"base_ns", info_.base_ns},
                           {"offset_to_node0_ns", offset_to_node0_ns},
                           {"offset_error_ns", offset_error_ns},
                           {"lost_spans", lost_},
                           {"unmatched_flows", flows_.unmatched()},
                           {"arrows_left_out", arrows_left_out_}};
  fmt::format_to(std::back_inserter(text_), "\n],\n\"{}\": {}\n}}\n", trace_format_key, shown_json(d9d));
  flush_over(0);
  file_.finish();
}

std::size_t Lanes::place(std::int64_t start_ns, std::int64_t end_ns) {
  const auto nests = [&](const Interval& other) {
    const bool apart = end_ns <= other.start || other.end <= start_ns;
    const bool inside = other.start <= start_ns && end_ns <= other.end;
    const bool around = start_ns <= other.start && other.end <= end_ns;
    return apart || inside || around;
  };
  std::size_t lane = 0;
  while (lane < lanes_.size() && !std::all_of(lanes_[lane].begin(), lanes_[lane].end(), nests)) ++lane;
  if (lane == lanes_.size()) lanes_.emplace_back();
  lanes_[lane].push_back({start_ns, end_ns});
  if (lanes_[lane].size() > history) lanes_[lane].pop_front();
  return lane;
}

}  // namespace d9d::trace
