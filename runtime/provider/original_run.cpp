#include "runtime/provider/original_run.hpp"

#include <algorithm>

#include "runtime/base/count.hpp"
#include "runtime/base/error.hpp"
#include "runtime/state/pattern.hpp"

namespace d9d {
namespace {

constexpr const char* weights_alone =
    "With --weights the weights alone are moved, and training begins from them with new moments";

// What the optimizer of one pipeline stage keeps, by the number of the parameter.
struct OriginalOptimizer {
  std::map<std::int64_t, std::map<std::string, const DcpValue*>> states;  // number, kind
  std::map<std::int64_t, const DcpValue*> groups;  // number of the group; its list of parameters
};

// One stage, in the order of its state dict.
struct OriginalStage {
  std::vector<const DcpValue*> parameters, buffers;
  OriginalOptimizer optimizer;
};

std::int64_t number_in(const std::string& key) {
  const bool is_number = !key.empty() && key.size() < 18 &&
                         std::all_of(key.begin(), key.end(), [](char c) { return c >= '0' && c <= '9'; });
  return is_number ? std::stoll(key) : -1;
}

class OriginalReader {
 public:
  OriginalReader(const DcpFolder& folder, const std::vector<std::string>& buffers) : folder_(folder) {
    for (const DcpValue& value : folder.values()) sort(value, buffers);
    D9D_REQUIRE(step_ != nullptr && !stages_.empty(),
                "{} is no training checkpoint of the original: expected state.schedule.current_step (or "
                "state.stepper.current_step) and state.tracked_modules, and it begins with {}",
                folder.directory(), folder.values().empty() ? "nothing" : folder.values().front().name);
  }

  OriginalRun run(Moments moments) {
    const std::int64_t steps = folder_.read_integer(*step_);
    D9D_REQUIRE(steps >= 0, "{}: {} is {}", folder_.directory(), step_->name, steps);
    run_.step = static_cast<std::uint64_t>(steps);
    for (auto& [name, stage] : stages_) {
      for (const DcpValue* value : stage.parameters) add(run_.parameters, value->path.back(), *value);
      for (const DcpValue* value : stage.buffers) add(run_.buffers, value->path.back(), *value);
    }
    if (moments == Moments::read) {
      for (auto& [name, stage] : stages_) name_moments(name, stage);
      count_updates();
    }
    return std::move(run_);
  }

 private:
  // "state" comes first in every path.
  void sort(const DcpValue& value, const std::vector<std::string>& buffers) {
    const auto& path = value.path;
    if (path.size() < 3 || path[0] != "state") return;
    if ((path[1] == "schedule" || path[1] == "stepper") && path[2] == "current_step") step_ = &value;
    if (path[1] == "tracked_modules" && path.size() == 4 && value.tensor)
      (matches_any(path[3], buffers) ? stages_[path[2]].buffers : stages_[path[2]].parameters)
          .push_back(&value);
    if (path[1] != "optimizer" || path.size() != 6) return;
    OriginalOptimizer& optimizer = stages_[path[2]].optimizer;
    const std::int64_t number = number_in(path[4]);
    if (path[3] == "state" && number >= 0) optimizer.states[number][path[5]] = &value;
    if (path[3] == "param_groups" && path[5] == "params") optimizer.groups[number] = &value;
  }

  void add(OriginalRun::Tensors& tensors, const std::string& name, const DcpValue& value) const {
    D9D_REQUIRE(tensors.emplace(name, &value).second,
                "{}: two pipeline stages hold {}; expected names that are the same on every mesh, with "
                "layers numbered over the whole model",
                folder_.directory(), name);
  }

  // All parameters are in one group in the order of the model, or only those that train were saved: then they are
  // the ones that have a state.
  void name_moments(const std::string& name, const OriginalStage& stage) {
    const OriginalOptimizer& optimizer = stage.optimizer;
    const std::string where = fmt::format("{}: state.optimizer.{}", folder_.directory(), name);
    D9D_REQUIRE(!optimizer.groups.empty(), "{} is missing: the checkpoint is not one of a training job. {}",
                where, weights_alone);
    D9D_REQUIRE(optimizer.groups.size() == 1,
                "{} has {} groups of parameters, and only the program that made them knows their order. {}",
                where, optimizer.groups.size(), weights_alone);
    const auto numbers = folder_.read_integers(*optimizer.groups.begin()->second);
    const std::size_t count = stage.parameters.size();
    const bool all_saved = numbers.size() == count;
    D9D_REQUIRE(all_saved || optimizer.states.size() == count,
                "{} numbers {}, of which {} have a state, and state.tracked_modules.{} holds {}. If some of "
                "these are buffers, name them with --buffers PATTERN. {}",
                where, counted(numbers.size(), "parameter"), optimizer.states.size(), name,
                counted(count, "tensor"), weights_alone);
    auto state = optimizer.states.begin();
    for (std::size_t i = 0; i < count; ++i) {
      if (all_saved) state = optimizer.states.find(numbers[i]);
      if (state != optimizer.states.end())
        name_state(where, *stage.parameters[i], state->first, state->second);
      if (!all_saved) ++state;
    }
  }

  void name_state(const std::string& where, const DcpValue& parameter, std::int64_t number,
                  const std::map<std::string, const DcpValue*>& state) {
    const std::string& name = parameter.path.back();
    for (const auto& [kind, value] : state) {
      if (kind == "step") {
        updates_of_[name] = folder_.read_integer(*value);
        continue;
      }
      if (!value->tensor) continue;
      D9D_REQUIRE(
          value->tensor->shape == parameter.tensor->shape,
          "{}.state.{}.{} has the shape {}, and the parameter of this number, {}, has {}: the optimizer was "
          "not given the parameters in the order of the model. {}",
          where, number, kind, to_text(value->tensor->shape), name, to_text(parameter.tensor->shape),
          weights_alone);
      add(run_.moments[kind], name, *value);
    }
  }

  // An optimizer that keeps no number of its own (SGD) made one update in each step.
  void count_updates() {
    std::int64_t most = 0;
    for (const auto& [name, updates] : updates_of_) most = std::max(most, updates);
    for (const auto& [name, updates] : updates_of_)
      if (updates < most) run_.updated_less.push_back(name);
    run_.updates = updates_of_.empty() ? run_.step : static_cast<std::uint64_t>(most);
    D9D_REQUIRE(run_.updates <= run_.step,
                "{}: its optimizer made {} in {}; a job here makes one update a step, so it cannot go on. {}",
                folder_.directory(), counted(run_.updates, "update"), counted(run_.step, "step"),
                weights_alone);
  }

  const DcpFolder& folder_;
  const DcpValue* step_ = nullptr;
  std::map<std::string, OriginalStage> stages_;  // by "pp_<rank>_stage_<index>"
  std::map<std::string, std::int64_t> updates_of_;
  OriginalRun run_;
};

}  // namespace

OriginalRun read_original_run(const DcpFolder& folder, const std::vector<std::string>& buffers,
                              Moments moments) {
  return OriginalReader(folder, buffers).run(moments);
}

}  // namespace d9d
