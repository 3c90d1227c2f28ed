#include "runtime/report/chart/timeline.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "runtime/base/error.hpp"
#include "runtime/pipeline/program/program_text.hpp"
#include "runtime/pipeline/simulated/draw_svg.hpp"
#include "runtime/trace/steps/step_bounds.hpp"

namespace d9d {
namespace {

constexpr const char* measured_means =
    "from the first action to the end of the last; not loading, reducing gradients after it, and the "
    "optimizer";
constexpr const char* simulated_means =
    "every action at the mean of its kind and stage; slow ones that nobody waited for make it the longer one";

constexpr int embedded_width = 900;  // readable where a page is narrow and where it is wide

struct MeasuredAction {
  Instruction instruction;
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
};
using RankActions = std::map<int, std::vector<MeasuredAction>>;  // by global rank

// Compute spans of pipeline stages, by step. Spans come sorted by their begin.
std::map<int, RankActions> actions_by_step(const trace::Recording& recording) {
  std::map<int, RankActions> steps;
  const trace::StepBounds bounds(recording);
  for (const trace::Span& span : recording.spans) {
    const int rank = recording.actors.at(span.actor).rank;
    if (span.category != trace::Category::compute || span.stage < 0 || rank < 0) continue;
    if (bounds.is_between_steps(span)) continue;
    steps[span.step][rank].push_back(
        {parse_instruction(recording.names.at(span.name)), span.start_ns, span.end_ns});
  }
  return steps;
}

// One rank for each set of stages, in the order of their first stages.
std::vector<int> first_pipeline(const RankActions& actions) {
  std::map<std::set<int>, int> by_stages;
  for (const auto& [rank, mine] : actions) {
    std::set<int> stages;
    for (const MeasuredAction& a : mine) {
      for (const Action& part : a.instruction.parts) stages.insert(part.stage);
    }
    by_stages.try_emplace(std::move(stages), rank);
  }
  std::vector<int> ranks;
  for (const auto& [stages, rank] : by_stages) ranks.push_back(rank);
  return ranks;
}

// Without W: whether a backward is split may change from step to step.
std::size_t num_passes(const RankActions& actions) {
  std::size_t count = 0;
  for (const auto& [rank, mine] : actions) {
    for (const MeasuredAction& a : mine) {
      for (const Action& part : a.instruction.parts) {
        if (part.kind != ActionKind::backward_weight) ++count;
      }
    }
  }
  return count;
}

double milliseconds(std::int64_t ns) {
  return 1e-6 * static_cast<double>(ns);
}

Simulation measured_times(const RankActions& actions, const std::vector<int>& ranks, std::int64_t zero_ns) {
  Simulation result;
  double busy = 0;
  for (const int rank : ranks) {
    result.ranks.emplace_back();
    for (const MeasuredAction& a : actions.at(rank)) {
      const double begin = milliseconds(a.begin_ns - zero_ns);
      const double end = milliseconds(a.end_ns - zero_ns);
      busy += end - begin;
      result.makespan = std::max(result.makespan, end);
      bool joined = false;
      for (const Action& part : a.instruction.parts)
        result.ranks.back().push_back({part, begin, end, std::exchange(joined, true)});
    }
  }
  result.bubble = std::max(0.0, 1 - busy / (result.makespan * static_cast<double>(ranks.size())));
  return result;
}

struct Mean {
  double sum = 0;
  int count = 0;
  double value() const { return count == 0 ? 0 : sum / count; }
};

std::vector<StageCosts> mean_costs(const RankActions& actions, const std::vector<int>& ranks,
                                   int num_stages) {
  std::map<std::pair<int, ActionKind>, Mean> means;
  for (const int rank : ranks) {
    for (const MeasuredAction& a : actions.at(rank)) {
      for (const Action& part : a.instruction.parts) {
        Mean& mean = means[{part.stage, part.kind}];
        mean.sum += milliseconds(a.end_ns - a.begin_ns) / static_cast<double>(a.instruction.parts.size());
        ++mean.count;
      }
    }
  }
  std::vector<StageCosts> costs;
  for (int stage = 0; stage < num_stages; ++stage) {
    costs.push_back({means[{stage, ActionKind::forward}].value(),
                     means[{stage, ActionKind::backward_input}].value(),
                     means[{stage, ActionKind::backward_weight}].value()});
    const Mean& full = means[{stage, ActionKind::backward}];
    if (full.count > 0) costs.back().full_backward = full.value();
  }
  return costs;
}

// A tensor that came while its rank had nothing else to do shows how long it was on its way.
std::vector<double> median_transfers(const Simulation& measured, const Topology& topology) {
  std::map<Action, double> ends;
  for (const auto& rank : measured.ranks) {
    for (const SimulatedAction& a : rank) {
      const bool forward = a.action.kind == ActionKind::forward;
      const auto kind = forward ? ActionKind::forward : ActionKind::backward;
      if (a.action.kind != ActionKind::backward_weight)
        ends[{kind, a.action.stage, a.action.microbatch}] = a.end;
    }
  }
  std::vector<std::vector<double>> seen(static_cast<std::size_t>(topology.num_stages() - 1));
  for (const auto& rank : measured.ranks) {
    double free = 0;
    for (const SimulatedAction& a : rank) {
      const bool forward = a.action.kind == ActionKind::forward;
      const int from = a.action.stage + (forward ? -1 : 1);
      const bool needs =
          a.action.kind != ActionKind::backward_weight && from >= 0 && from < topology.num_stages();
      if (needs && !topology.same_rank(from, a.action.stage)) {
        const auto kind = forward ? ActionKind::forward : ActionKind::backward;
        const auto produced = ends.find({kind, from, a.action.microbatch});
        if (produced != ends.end() && produced->second >= free)
          seen[static_cast<std::size_t>(std::min(from, a.action.stage))].push_back(a.start -
                                                                                   produced->second);
      }
      free = a.end;
    }
  }
  std::vector<double> transfers;
  for (std::vector<double>& times : seen) {
    std::sort(times.begin(), times.end());
    transfers.push_back(times.empty() ? 0 : std::max(0.0, times[times.size() / 2]));
  }
  return transfers;
}

std::string text_of(const RankActions& actions, const std::vector<int>& ranks) {
  std::string text;
  for (const int rank : ranks) {
    for (const MeasuredAction& a : actions.at(rank)) text += to_string(a.instruction) + " ";
    text += "\n";
  }
  return text;
}

// The first microbatches that ran forward alone, where others trained (job/step_phases.hpp).
int forwards_alone(const RankActions& actions) {
  int first_trained = std::numeric_limits<int>::max();
  for (const auto& [rank, mine] : actions) {
    for (const MeasuredAction& a : mine) {
      for (const Action& part : a.instruction.parts) {
        if (part.kind != ActionKind::forward) first_trained = std::min(first_trained, part.microbatch);
      }
    }
  }
  return first_trained == std::numeric_limits<int>::max() ? 0 : first_trained;
}

// Of files of two starts, or of one that is given twice.
bool has_an_action_twice(const RankActions& actions) {
  for (const auto& [rank, mine] : actions) {
    std::set<std::string> seen;
    for (const MeasuredAction& a : mine) {
      if (!seen.insert(to_string(a.instruction)).second) return true;
    }
  }
  return false;
}

// Checks that the trace has all of the step.
std::optional<PipelineProgram> whole_program(const RankActions& actions, std::string& why) {
  try {
    return parse_program(text_of(actions, first_pipeline(actions)), forwards_alone(actions));
  } catch (const Error& error) {
    why = error.what();
    return std::nullopt;
  }
}

MeasuredStep measured(int number, const RankActions& actions, const PipelineProgram& program) {
  MeasuredStep step;
  step.step = number;
  step.ranks = first_pipeline(actions);
  step.program = program.compute;
  std::int64_t zero = actions.at(step.ranks.front()).front().begin_ns;
  for (const int rank : step.ranks) zero = std::min(zero, actions.at(rank).front().begin_ns);
  step.measured = measured_times(actions, step.ranks, zero);
  step.costs.stages = mean_costs(actions, step.ranks, program.topology.num_stages());
  step.costs.transfers = median_transfers(step.measured, program.topology);
  step.simulated = simulate(program.compute, program.topology, step.costs);
  return step;
}

}  // namespace

MeasuredStep measure_step(const trace::Recording& recording, std::optional<int> step) {
  const std::map<int, RankActions> steps = actions_by_step(recording);
  D9D_REQUIRE(!steps.empty(), "the trace has no actions of pipeline stages; trace a training run");
  std::size_t most = 0;  // a step cut short may look like another program
  for (const auto& [number, actions] : steps) most = std::max(most, num_passes(actions));
  std::string why = "actions are missing";
  for (auto it = steps.rbegin(); it != steps.rend(); ++it) {
    if (step ? it->first != *step : num_passes(it->second) < most) continue;
    if (const auto program = whole_program(it->second, why)) return measured(it->first, it->second, *program);
  }
  D9D_REQUIRE(!step || steps.contains(*step), "the trace has no step {}; it has {} to {}", *step,
              steps.begin()->first, steps.rbegin()->first);
  const bool twice = has_an_action_twice(step ? steps.at(*step) : std::prev(steps.end())->second);
  throw Error(ErrorKind::input, fmt::format("the trace has {} whole: {}. {}",
                                            step ? fmt::format("step {} not", *step) : "no step", why,
                                            twice ? "Give each file once, and files of one start only"
                                                  : "Give the files of all nodes, or another --step"));
}

std::string timeline_svg(const MeasuredStep& step, bool embedded) {
  SvgOptions options;
  options.embedded = embedded;
  if (embedded) options.width = embedded_width;
  options.unit = " ms";
  const std::string title = fmt::format("step {}, ", step.step);
  std::vector<std::string> rows;
  for (std::size_t i = 0; i < step.ranks.size(); ++i)
    rows.push_back(fmt::format("pp {}, rank {}", i, step.ranks[i]));
  const std::vector<SvgPanel> panels{
      {.title = title + "measured", .simulation = &step.measured, .rows = rows, .note = measured_means},
      {.title = title + "the same program in simulation",
       .simulation = &step.simulated,
       .rows = rows,
       .note = simulated_means}};
  return draw_svg(panels, options);
}

std::string timeline_text(const MeasuredStep& step) {
  return fmt::format(
      "step {}: measured makespan {:.3f} ms, bubble {:.1f} %; simulated with its mean costs {:.3f} ms, "
      "bubble {:.1f} %; measured / simulated {:.3f}\nmeasured: {}\nsimulated: {}\n",
      step.step, step.measured.makespan, 100 * step.measured.bubble, step.simulated.makespan,
      100 * step.simulated.bubble, step.measured.makespan / step.simulated.makespan, measured_means,
      simulated_means);
}

}  // namespace d9d
