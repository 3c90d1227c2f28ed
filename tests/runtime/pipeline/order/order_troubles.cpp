#include "tests/runtime/pipeline/order/order_troubles.hpp"

#include <fmt/format.h>

#include "runtime/base/rng.hpp"

namespace d9d {
namespace {

std::uint64_t element_of(const Action& action) {
  return (static_cast<std::uint64_t>(action.stage) << 32) +
         (static_cast<std::uint64_t>(action.microbatch) << 8) + static_cast<std::uint64_t>(action.kind);
}

Trouble always(int slow, double times) {
  return {fmt::format("rank {} always, {} times slower", slow, times),
          [slow, times](const Action&, int rank, std::uint64_t) { return rank == slow ? times : 1; }};
}

}  // namespace

std::vector<NamedSchedule> bench_schedules() {
  return {{"inference", InferenceSchedule{}},
          {"gpipe", GpipeSchedule{}},
          {"looped_bfs, 2 stages per rank", LoopedBfsSchedule{2}},
          {"1f1b", OneFOneBSchedule{}},
          {"1f1b, deep warm-up", OneFOneBSchedule{.warmup = Warmup::deep}},
          {"1f1b, 2 stages per rank", OneFOneBSchedule{.num_stages_per_rank = 2}},
          {"1f1b, zero bubble", OneFOneBSchedule{.zero_bubble = true}},
          {"1f1b, zero bubble, 2 stages per rank",
           OneFOneBSchedule{.num_stages_per_rank = 2, .zero_bubble = true}},
          {"zero_bubble_v", ZeroBubbleVSchedule{}},
          {"dual_pipe_v", DualPipeVSchedule{}}};
}

bool has_choice(const ScheduleConfig& schedule) {
  return !std::holds_alternative<InferenceSchedule>(schedule) &&
         !std::holds_alternative<GpipeSchedule>(schedule) &&
         !std::holds_alternative<LoopedBfsSchedule>(schedule);
}

std::shared_ptr<const PipelineProgram> one_lane_program(const ScheduleConfig& schedule, int ranks,
                                                        int microbatches) {
  return parts_apart(std::make_shared<const PipelineProgram>(build_program(schedule, ranks, microbatches)));
}

std::vector<Trouble> order_troubles(int ranks) {
  std::vector<Trouble> all = {
      {"nobody", [](const Action&, int, std::uint64_t) { return 1.0; }},
      {"every rank now and then, 6 times slower",
       [](const Action& action, int rank, std::uint64_t) {
         return (action.microbatch + 3 * rank + 5 * static_cast<int>(action.kind)) % 10 == 3 ? 6.0 : 1.0;
       }},
      {"any action in ten, 6 times slower",
       [](const Action& action, int, std::uint64_t seed) {
         return RandomStream(seed, "held up").uniform(element_of(action)) < 0.1 ? 6.0 : 1.0;
       },
       true},
      {"rank 1 in every eighth microbatch, 6 times slower",
       [](const Action& action, int rank, std::uint64_t) {
         return rank == 1 && action.microbatch % 8 == 3 ? 6.0 : 1.0;
       }},
      always(0, 1.5),
      always(1, 1.5),
      always(ranks - 1, 1.5),
      always(1, 2)};
  for (const std::size_t which : {1, 3, 5}) all[which].with_room = true;
  return all;
}

ActionDuration troubled_durations(const PipelineProgram& program, const Trouble& trouble, double unit,
                                  double jitter, std::uint64_t seed) {
  const Topology topology = program.topology;
  const double even = unit / topology.stages_per_rank();
  return [=, stream = RandomStream(seed, "jitter"), slower = trouble.slower](const Action& action) {
    const double cost = action.kind == ActionKind::backward ? 2 * even : even;
    return cost * slower(action, topology.rank_of(action.stage), seed) *
           (1 + jitter * stream.uniform(element_of(action)));
  };
}

}  // namespace d9d
