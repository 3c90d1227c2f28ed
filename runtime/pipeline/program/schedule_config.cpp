#include "runtime/pipeline/program/schedule_config.hpp"

#include <fmt/ranges.h>

#include <utility>

#include "runtime/base/config/problems.hpp"
#include "runtime/base/error.hpp"

namespace d9d {
namespace {

template <std::size_t... I>
std::vector<ScheduleConfig> each_of(std::index_sequence<I...>) {
  return {std::variant_alternative_t<I, ScheduleConfig>{}...};
}

std::vector<ScheduleConfig> each_schedule() {
  return each_of(
      std::make_index_sequence<std::variant_size_v<ScheduleConfig> - 1>());  // OwnSchedule is the last
}

}  // namespace

const std::vector<std::string_view>& schedule_names() {
  static const std::vector<std::string_view> names = [] {
    std::vector<std::string_view> all;
    for (const ScheduleConfig& schedule : each_schedule()) all.push_back(name_of(schedule));
    return all;
  }();
  return names;
}

std::string_view name_of(const ScheduleConfig& config) {
  return std::visit([](const auto& schedule) -> std::string_view { return schedule.name; }, config);
}

ScheduleConfig schedule_named(std::string_view name) {
  for (const ScheduleConfig& schedule : each_schedule()) {
    if (name_of(schedule) == name) return schedule;
  }
  const std::string near = config::nearest(name, schedule_names());
  throw Error(ErrorKind::input, fmt::format("unknown schedule \"{}\"; {}there are: {}", name,
                                            near.empty() ? "" : fmt::format("did you mean \"{}\"? ", near),
                                            fmt::join(schedule_names(), " ")));
}

int stages_per_rank(const ScheduleConfig& config) {
  struct Count {
    int operator()(const GpipeSchedule&) const { return 1; }
    int operator()(const LoopedBfsSchedule& s) const { return s.num_stages_per_rank; }
    int operator()(const OneFOneBSchedule& s) const { return s.num_stages_per_rank; }
    int operator()(const ZeroBubbleVSchedule&) const { return 2; }
    int operator()(const DualPipeVSchedule&) const { return 2; }
    int operator()(const AutoSchedule& s) const { return s.num_stages_per_rank; }
    int operator()(const InferenceSchedule&) const { return 1; }
    int operator()(const OwnSchedule& s) const { return s.made ? s.made->stages_per_rank : 1; }
  };
  return std::visit(Count{}, config);
}

bool serves(const ScheduleConfig& config, std::int64_t ranks, std::int64_t microbatches) {
  return !std::holds_alternative<DualPipeVSchedule>(config) || microbatches >= 2 * ranks;
}

}  // namespace d9d
