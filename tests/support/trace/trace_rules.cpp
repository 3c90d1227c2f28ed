#include "tests/support/trace/trace_rules.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

namespace d9d::test {
namespace {

using nlohmann::json;
using Place = std::pair<std::int64_t, std::int64_t>;  // pid, tid
struct Stretch {
  std::int64_t begin, end;  // ns
};

class Rules {
 public:
  explicit Rules(const json& document) {
    for (const json& event : document.at("traceEvents")) take(event);
    for (const auto& [place, times] : slices_) nest(place, times);
    for (const auto& [id, ends] : flows_) pair(id, ends);
  }
  std::vector<std::string> broken;

 private:
  struct Flow {
    std::vector<std::pair<Place, std::int64_t>> starts, ends;
  };

  void fails(const std::string& what, const json& event) { broken.push_back(what + ": " + event.dump()); }

  std::int64_t time(const json& event, const char* key) {
    const auto found = event.find(key);
    if (found == event.end() || !found->is_number() || !(found->get<double>() >= 0)) {
      fails(std::string(key) + " is no number of at least 0", event);
      return 0;
    }
    return std::llround(found->get<double>() * 1000);
  }

  void take(const json& event) {
    const std::string phase = event.at("ph");
    const std::int64_t pid = event.at("pid");
    if (phase == "M") return name(event, pid);
    const std::int64_t begin = time(event, "ts");
    if (!processes_[pid]) fails("its process has no name", event);
    if (phase == "C") {
      for (const auto& [series, value] : event.at("args").items())
        if (!value.is_number() && !value.is_null()) fails("a counter is no number", event);
      return;
    }
    const Place place{pid, event.at("tid").get<std::int64_t>()};
    if (!threads_[place]) fails("its thread has no name", event);
    if (phase == "X") {
      slices_[place].push_back({begin, begin + time(event, "dur")});
    } else if (phase == "s" || phase == "f") {
      Flow& flow = flows_[event.at("id").dump()];
      (phase == "s" ? flow.starts : flow.ends).emplace_back(place, begin);
      if (phase == "f" && event.value("bp", "") != "e")
        fails("an arrow's end binds to the next slice", event);
    } else {
      fails("an event of a kind that nobody expects", event);
    }
  }

  void name(const json& event, std::int64_t pid) {
    const std::string what = event.at("name");
    if (what == "process_name" && std::exchange(processes_[pid], true))
      fails("a process is named twice", event);
    if (what == "thread_name" && std::exchange(threads_[{pid, event.at("tid").get<std::int64_t>()}], true))
      fails("a thread is named twice", event);
  }

  void nest(const Place& place, std::vector<Stretch> times) {
    std::stable_sort(times.begin(), times.end(), [](const Stretch& a, const Stretch& b) {
      return a.begin != b.begin ? a.begin < b.begin : a.end > b.end;
    });
    std::vector<std::int64_t> open;
    for (const Stretch& slice : times) {
      while (!open.empty() && open.back() <= slice.begin) open.pop_back();
      if (!open.empty() && slice.end > open.back())
        broken.push_back("slices of thread " + std::to_string(place.second) + " overlap at " +
                         std::to_string(slice.begin) + " ns");
      open.push_back(slice.end);
    }
  }

  bool lies_in_a_slice(const Place& place, std::int64_t ns) const {
    const auto found = slices_.find(place);
    return found != slices_.end() &&
           std::any_of(found->second.begin(), found->second.end(),
                       [&](const Stretch& each) { return each.begin <= ns && ns <= each.end; });
  }

  void pair(const std::string& id, const Flow& flow) {
    if (flow.starts.size() != 1 || flow.ends.size() != 1)
      return broken.push_back("flow " + id + " has " + std::to_string(flow.starts.size()) + " starts and " +
                              std::to_string(flow.ends.size()) + " ends");
    if (flow.starts[0].second > flow.ends[0].second)
      broken.push_back("flow " + id + " ends before it starts");
    for (const auto& [place, ns] : {flow.starts[0], flow.ends[0]})
      if (!lies_in_a_slice(place, ns)) broken.push_back("an end of flow " + id + " lies in no slice");
  }

  std::map<std::int64_t, bool> processes_;
  std::map<Place, bool> threads_;
  std::map<Place, std::vector<Stretch>> slices_;
  std::map<std::string, Flow> flows_;
};

}  // namespace

std::vector<std::string> broken_trace_rules(const nlohmann::json& document) {
  return Rules(document).broken;
}

}  // namespace d9d::test
