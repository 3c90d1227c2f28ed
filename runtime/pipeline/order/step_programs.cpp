#include "runtime/pipeline/order/step_programs.hpp"

#include <algorithm>

#include "runtime/base/error.hpp"

namespace d9d {
namespace {

constexpr std::size_t costs_of_stage = 4;     // F, B, I, W
constexpr std::size_t costs_of_boundary = 2;  // activation and gradient

// Returns the start program: 1F1B, or zero_bubble_v on a V. If that has no program for these numbers within
// the limit, it is the result of a search for equal costs.
Program start_of(const AutoSchedule& schedule, const Topology& topology, int microbatches,
                 SharedSearch& search) {
  const AutoProblem problem = auto_problem(schedule, topology, microbatches, unit_costs(topology));
  const ScheduleConfig fixed = topology.kind() == TopologyKind::v
                                   ? ScheduleConfig(ZeroBubbleVSchedule{})
                                   : OneFOneBSchedule{schedule.num_stages_per_rank};
  const bool exists = topology_of(fixed, topology.num_ranks()).num_stages() == topology.num_stages() &&
                      serves(fixed, topology.num_ranks(), microbatches);
  if (exists) {
    Program program = build_compute(fixed, topology.num_ranks(), microbatches);
    const auto held = simulate(program, topology, problem.costs).peak_held;
    if (*std::max_element(held.begin(), held.end()) <= problem.held_max) return program;
  }
  return search.find(problem)->compute;
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

void keep_least(std::optional<double>& least, double value) {
  if (!least || value < *least) least = value;
}

std::string milliseconds(double seconds) {
  return fmt::format("{:.3f} ms", 1e3 * seconds);
}

std::string describe(const AutoChoice& choice, const CostModel& costs) {
  std::string text = "schedule auto, measured per microbatch:";
  for (std::size_t stage = 0; stage < costs.stages.size(); ++stage) {
    const StageCosts& c = costs.stages[stage];
    text += fmt::format(" stage {} F {} B {} I {} W {};", stage, milliseconds(c.forward),
                        milliseconds(c.backward()), milliseconds(c.backward_input),
                        milliseconds(c.backward_weight));
  }
  double slowest = 0;
  for (const double transfer : costs.transfers) slowest = std::max(slowest, transfer);
  text += fmt::format(" transfers up to {}. ", milliseconds(slowest));
  text += fmt::format("The {} program takes {} in simulation, bubble {:.1f} %",
                      choice.origin == "searched" ? "found" : choice.origin,
                      milliseconds(choice.simulation.makespan), 100 * choice.simulation.bubble);
  if (choice.fixed.empty()) return text + "; no fixed schedule keeps the limit of activations";
  return text + fmt::format("; the best fixed schedule, {}: {}, bubble {:.1f} %", choice.fixed,
                            milliseconds(choice.fixed_makespan), 100 * choice.fixed_bubble);
}

}  // namespace

StepPrograms::StepPrograms(const ScheduleConfig& config, int ranks, int replicas,
                           std::shared_ptr<SharedSearch> search)
    : config_(config),
      topology_(topology_of(config, ranks)),
      replicas_(replicas),
      search_(search ? std::move(search) : std::make_shared<SharedSearch>()),
      fixed_(config, ranks),
      phase_(std::holds_alternative<AutoSchedule>(config) ? Phase::start : Phase::fixed),
      measured_(static_cast<std::size_t>(topology_.num_stages())),
      activation_(measured_.size()),
      gradient_(measured_.size()) {}

std::shared_ptr<const PipelineProgram> StepPrograms::get(int microbatches) {
  if (phase_ == Phase::fixed) return fixed_.get(microbatches);
  if (phase_ == Phase::start) return start_program(microbatches, false);
  if (phase_ == Phase::measuring) return start_program(microbatches, steps_measured_ % 2 == 1);
  D9D_CHECK(phase_ != Phase::measured, "a step begins before the ranks have put their costs together");
  auto& program = searched_[microbatches];
  if (program) return program;
  const auto& schedule = std::get<AutoSchedule>(config_);
  const auto choice = search_->find(auto_problem(schedule, topology_, microbatches, *costs_));
  if (searched_.size() == 1) report_ = describe(*choice, *costs_);
  program =
      std::make_shared<const PipelineProgram>(complete_program(choice->compute, topology_, microbatches));
  return program;
}

std::shared_ptr<const PipelineProgram> StepPrograms::start_program(int microbatches, bool split) {
  auto& program = (split ? split_ : full_)[microbatches];
  if (program) return program;
  const Program start = start_of(std::get<AutoSchedule>(config_), topology_, microbatches, *search_);
  program = std::make_shared<const PipelineProgram>(
      complete_program(split ? split_backwards(start) : join_backwards(start), topology_, microbatches));
  return program;
}

void StepPrograms::add_action_time(const Instruction& instruction, double seconds) {
  if (phase_ != Phase::measuring || instruction.parts.size() != 1) return;
  const Action& action = instruction.parts.front();
  Measured& stage = measured_[static_cast<std::size_t>(action.stage)];
  switch (action.kind) {
    case ActionKind::forward:
      return stage.forward.push_back(seconds);
    case ActionKind::backward:
      return stage.backward.push_back(seconds);
    case ActionKind::backward_input:
      return stage.backward_input.push_back(seconds);
    default:
      return stage.backward_weight.push_back(seconds);
  }
}

void StepPrograms::add_transfer_time(bool gradient, int stage, double seconds) {
  if (phase_ != Phase::measuring) return;
  keep_least((gradient ? gradient_ : activation_).at(static_cast<std::size_t>(stage)), seconds);
}

std::vector<double> StepPrograms::finish_step() {
  if (phase_ == Phase::start) {
    phase_ = Phase::measuring;
    return {};
  }
  if (phase_ != Phase::measuring) return {};
  if (++steps_measured_ < std::get<AutoSchedule>(config_).measured_steps) return {};
  phase_ = Phase::measured;
  std::vector<double> costs;
  for (const Measured& stage : measured_) {
    for (const auto* times :
         {&stage.forward, &stage.backward, &stage.backward_input, &stage.backward_weight}) {
      costs.push_back(median(*times));
    }
  }
  for (std::size_t stage = 0; stage + 1 < measured_.size(); ++stage) {
    costs.push_back(activation_[stage + 1].value_or(0));
    costs.push_back(gradient_[stage].value_or(0));
  }
  return costs;
}

CostModel StepPrograms::costs_from(const std::vector<double>& sums) const {
  const std::size_t stages = measured_.size();
  D9D_CHECK(sums.size() == costs_of_stage * stages + costs_of_boundary * (stages - 1),
            "{} costs of {} stages", sums.size(), stages);
  const auto mean = [&](std::size_t index) { return sums[index] / replicas_; };
  CostModel costs;
  for (std::size_t stage = 0; stage < stages; ++stage) {
    const std::size_t at = costs_of_stage * stage;
    costs.stages.push_back({mean(at), mean(at + 2), mean(at + 3), mean(at + 1)});
  }
  for (std::size_t boundary = 0; boundary + 1 < stages; ++boundary) {
    const std::size_t at = costs_of_stage * stages + costs_of_boundary * boundary;
    costs.transfers.push_back(std::max(0.0, (mean(at) + mean(at + 1)) / 2));
  }
  return costs;
}

void StepPrograms::use_summed_costs(const std::vector<double>& sums) {
  D9D_CHECK(phase_ == Phase::measured, "costs came, but none were asked for");
  costs_ = costs_from(sums);
  phase_ = Phase::searched;
}

Program split_backwards(const Program& compute) {
  Program result;
  for (const RankProgram& rank : compute) {
    result.emplace_back();
    for (const Instruction& instruction : rank) {
      for (const Action& action : instruction.parts) {
        if (action.kind != ActionKind::backward) {
          result.back().push_back({{action}});
          continue;
        }
        result.back().push_back({{{ActionKind::backward_input, action.stage, action.microbatch}}});
        result.back().push_back({{{ActionKind::backward_weight, action.stage, action.microbatch}}});
      }
    }
  }
  return result;
}

Program join_backwards(const Program& compute) {
  Program result;
  for (const RankProgram& rank : compute) {
    result.emplace_back();
    for (const Instruction& instruction : rank) {
      for (Action action : instruction.parts) {
        if (action.kind == ActionKind::backward_weight) continue;
        if (action.kind == ActionKind::backward_input) action.kind = ActionKind::backward;
        result.back().push_back({{action}});
      }
    }
  }
  return result;
}

}  // namespace d9d
