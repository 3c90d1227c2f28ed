#include "runtime/pipeline/program/schedule_config.hpp"

#include <utility>

#include "runtime/base/error.hpp"

namespace d9d {
namespace {

template <std::size_t... I>
std::vector<std::string_view> names_of(std::index_sequence<I...>) {
  return {std::variant_alternative_t<I, ScheduleConfig>::kName...};
}

int fixed_stages(const ScheduleKeys& keys, int stages) {
  const int given = keys.num_stages_per_rank.value_or(stages);
  D9D_REQUIRE(given == stages,
              "schedule {} always has {} stage(s) per rank; num_stages_per_rank is {}, leave it out",
              keys.schedule, stages, given);
  return given;
}

int free_stages(const ScheduleKeys& keys) {
  const int given = keys.num_stages_per_rank.value_or(1);
  D9D_REQUIRE(given >= 1, "num_stages_per_rank is {}; expected at least 1", given);
  return given;
}

Warmup parse_warmup(const std::string& text) {
  if (text == "textbook") return Warmup::textbook;
  D9D_REQUIRE(text == "deep", "warmup is \"{}\"; expected textbook or deep", text);
  return Warmup::deep;
}

// Only 1f1b has them.
void refuse_1f1b_keys(const ScheduleKeys& keys) {
  D9D_REQUIRE(!keys.zero_bubble.value_or(false), "schedule {} has no zero_bubble; only 1f1b has",
              keys.schedule);
  D9D_REQUIRE(!keys.warmup, "schedule {} has no warmup; only 1f1b has", keys.schedule);
}

// Only auto has them.
void refuse_auto_keys(const ScheduleKeys& keys) {
  D9D_REQUIRE(!keys.topology, "schedule {} has no topology; only auto has", keys.schedule);
  D9D_REQUIRE(!keys.activations_max, "schedule {} has no activations_max; only auto has", keys.schedule);
}

AutoSchedule parse_auto(const ScheduleKeys& keys) {
  AutoSchedule schedule;
  schedule.num_stages_per_rank = free_stages(keys);
  schedule.topology = parse_topology(keys.topology.value_or("loop"));
  schedule.activations_max = keys.activations_max;
  return schedule;
}

}  // namespace

const std::vector<std::string_view>& schedule_names() {
  static const std::vector<std::string_view> names =
      names_of(std::make_index_sequence<std::variant_size_v<ScheduleConfig>>());
  return names;
}

std::string_view name_of(const ScheduleConfig& config) {
  return std::visit([](const auto& schedule) { return schedule.kName; }, config);
}

int stages_per_rank(const ScheduleConfig& config) {
  struct Count {
    int operator()(const InferenceSchedule&) const { return 1; }
    int operator()(const GpipeSchedule&) const { return 1; }
    int operator()(const LoopedBfsSchedule& s) const { return s.num_stages_per_rank; }
    int operator()(const OneFOneBSchedule& s) const { return s.num_stages_per_rank; }
    int operator()(const ZeroBubbleVSchedule&) const { return 2; }
    int operator()(const DualPipeVSchedule&) const { return 2; }
    int operator()(const AutoSchedule& s) const { return s.num_stages_per_rank; }
  };
  return std::visit(Count{}, config);
}

bool serves(const ScheduleConfig& config, int ranks, int microbatches) {
  return !std::holds_alternative<DualPipeVSchedule>(config) || microbatches >= 2 * ranks;
}

TopologyKind parse_topology(const std::string& text) {
  if (text == "loop") return TopologyKind::loop;
  D9D_REQUIRE(text == "v", "topology is \"{}\"; expected loop or v", text);
  return TopologyKind::v;
}

ScheduleConfig schedule_from_keys(const ScheduleKeys& keys) {
  if (keys.schedule != AutoSchedule::kName) refuse_auto_keys(keys);
  if (keys.schedule == OneFOneBSchedule::kName) {
    return OneFOneBSchedule{free_stages(keys), keys.zero_bubble.value_or(false),
                            parse_warmup(keys.warmup.value_or("textbook"))};
  }
  refuse_1f1b_keys(keys);
  if (keys.schedule == AutoSchedule::kName) return parse_auto(keys);
  if (keys.schedule == LoopedBfsSchedule::kName) return LoopedBfsSchedule{free_stages(keys)};
  if (keys.schedule == InferenceSchedule::kName) return fixed_stages(keys, 1), InferenceSchedule{};
  if (keys.schedule == GpipeSchedule::kName) return fixed_stages(keys, 1), GpipeSchedule{};
  if (keys.schedule == ZeroBubbleVSchedule::kName) return fixed_stages(keys, 2), ZeroBubbleVSchedule{};
  if (keys.schedule == DualPipeVSchedule::kName) return fixed_stages(keys, 2), DualPipeVSchedule{};
  std::string known;
  for (const std::string_view name : schedule_names()) known += " " + std::string(name);
  throw Error(ErrorKind::input, fmt::format("unknown schedule \"{}\"; there are:{}", keys.schedule, known));
}

}  // namespace d9d
