#include "runtime/pipeline/stage/stage_core.hpp"

#include <ATen/ops/full_like.h>
#include <c10/core/GradMode.h>
#include <c10/util/Exception.h>
#include <torch/csrc/autograd/variable.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "runtime/base/host_limits.hpp"
#include "runtime/base/shortened.hpp"
#include "runtime/device/host_numbers.hpp"
#include "runtime/device/host_waits.hpp"
#include "runtime/device/work_name.hpp"
#include "runtime/pipeline/stage/handed_tensors.hpp"
#include "runtime/tensor/microbatch_scope.hpp"

namespace d9d {

using kernels::WeightWork;

namespace {

// The parameters whose weight work torch's own ops may defer. None if the stage has units: their parameters
// have values only while the unit computes.
std::shared_ptr<const WeightWork::Leaves> leaves_for_later(const StageCoreOptions& options) {
  if (options.before_weight_job) return nullptr;
  auto leaves = std::make_shared<WeightWork::Leaves>();
  for (const StageParameter& parameter : options.module->parameters())
    leaves->insert(parameter.tensor.unsafeGetTensorImpl());
  return leaves;
}

}  // namespace

StageCore::StageCore(StageCoreOptions options, TensorTable& table)
    : options_(std::move(options)),
      table_(table),
      leaves_(leaves_for_later(options_)),
      watch_(options_.training ? options_.module->parameters() : std::vector<StageParameter>(),
             options_.stage, options_.observer, options_.each_microbatch) {
  D9D_CHECK(options_.stage >= 0 && options_.stage < options_.num_stages, "stage {} of {}", options_.stage,
            options_.num_stages);
  D9D_CHECK(!is_last() || (options_.training ? bool(options_.compute_loss) : bool(options_.consume_outputs)),
            "the last stage has no {} function", options_.training ? "loss" : "output");
}
// A step may be abandoned between I and W, so microbatches may still hold weight work here.
StageCore::~StageCore() {
  for (const Microbatch& mb : microbatches_) {
    if (mb.work) mb.work->discard();
  }
}

void StageCore::begin_step(std::uint64_t step, const std::vector<MicrobatchTensors>& microbatches) {
  D9D_CHECK(microbatches_.empty(), "step {} begins on stage {} before step {} is finished", step, stage(),
            step_);
  D9D_REQUIRE(!microbatches.empty(), "step {} has no microbatches", step);
  set_training(options_.training);  // another core may share the module and have changed its mode
  D9D_CHECK((options_.passes == 1 || !options_.training) &&
                static_cast<int>(microbatches.size()) % options_.passes == 0,
            "{} microbatches in {} passes", microbatches.size(), options_.passes);
  step_ = step;
  unfinished_ = static_cast<int>(microbatches.size());
  for (const MicrobatchTensors& given : microbatches) {
    Microbatch mb;
    mb.trains = options_.training && !given.forward_only;
    D9D_CHECK(mb.trains || !is_last() || options_.consume_outputs,
              "consume_outputs is missing for the outputs of stage {}", stage());
    if (is_first()) mb.given.inputs = given.inputs;
    mb.given.shared = given.shared;
    if (is_last()) mb.given.state = given.state;
    microbatches_.push_back(std::move(mb));
  }
  watch_.begin_step();
}

void StageCore::put_activation(int microbatch, Ticket ticket) {
  Ticket& slot = at(microbatch).activation;
  D9D_CHECK(takes_activation(microbatch) && !slot && at(microbatch).phase == Microbatch::Phase::waiting,
            "stage {} got an activation of microbatch {} that it does not expect", stage(), microbatch);
  slot = ticket;
}

void StageCore::put_gradient(int microbatch, Ticket ticket) {
  Ticket& slot = at(microbatch).gradient;
  D9D_CHECK(!is_last() && !slot && at(microbatch).phase <= Microbatch::Phase::forwarded,
            "stage {} got a gradient of microbatch {} that it does not expect", stage(), microbatch);
  slot = ticket;
}

bool StageCore::ready(const Action& action) const {
  if (action.stage != stage() || action.microbatch >= static_cast<int>(microbatches_.size())) return false;
  const Microbatch& mb = microbatches_[static_cast<std::size_t>(action.microbatch)];
  switch (action.kind) {
    case ActionKind::forward:
      return mb.phase == Microbatch::Phase::waiting &&
             (!takes_activation(action.microbatch) || mb.activation);
    case ActionKind::backward:
    case ActionKind::backward_input:
      return mb.trains && mb.phase == Microbatch::Phase::forwarded && (is_last() || mb.gradient);
    case ActionKind::backward_weight:
      return mb.phase == Microbatch::Phase::input_done;
    default:
      return false;
  }
}

ActionResult StageCore::run(const Action& action) {
  D9D_CHECK(ready(action), "{} of step {} is not ready on stage {}", to_string(action), step_, stage());
  try {
    ActionResult result = dispatch(action);
    std::exchange(timer_, {}).end();
    if (options_.synchronous) options_.device->record().wait("debug.synchronous_device");
    return result;
  } catch (const Error& error) {
    throw Error(error.kind(), error_prefix(action) + error.what(), error.where());
  } catch (const c10::Error& error) {
    const std::string memory = out_of_memory_report(error.what_without_backtrace());
    if (!memory.empty()) throw Error(ErrorKind::environment, error_prefix(action) + memory);
    throw_of_model(action, ErrorKind::bug, error.what_without_backtrace());
  } catch (...) {
    const Caught caught = describe_current_exception();
    throw_of_model(action, caught.kind, caught.what);
  }
}

void StageCore::throw_of_model(const Action& action, ErrorKind kind, const std::string& what) const {
  if (kind != ErrorKind::bug || options_.whose.empty()) throw Error(kind, error_prefix(action) + what);
  throw Error(ErrorKind::environment,
              fmt::format("{}{} threw: {}", error_prefix(action), options_.whose, shortened(what)));
}

StageLosses StageCore::end_step() {
  D9D_CHECK(step_done(), "step {} of stage {} ends with {} unfinished microbatches", step_, stage(),
            unfinished_);
  D9D_CHECK(num_cached() == 0, "{} microbatches of stage {} hold tensors after step {}", num_cached(),
            stage(), step_);
  StageLosses step;
  for (const Microbatch& mb : microbatches_) {
    if (!mb.loss.defined() || mb.weight == 0) continue;
    step.losses.push_back(mb.loss);
    step.weights.push_back(mb.weight);
  }
  microbatches_.clear();
  return step;
}

StageTotals StageCore::finish_step() {
  const StageLosses step = end_step();
  return totals_of(host_numbers(step.losses), step.weights);
}

int StageCore::num_cached() const {
  return static_cast<int>(std::count_if(microbatches_.begin(), microbatches_.end(),
                                        [](const Microbatch& mb) { return mb.cached(); }));
}

Microbatch& StageCore::at(int microbatch) {
  D9D_CHECK(microbatch >= 0 && microbatch < static_cast<int>(microbatches_.size()),
            "microbatch {} on stage {} in a step of {}", microbatch, stage(), microbatches_.size());
  return microbatches_[static_cast<std::size_t>(microbatch)];
}

// Whether the outputs are handed over: on the last stage, for microbatches of the last pass.
bool StageCore::consumes(int microbatch) const {
  return is_last() && microbatch + microbatches_of_pass() >= static_cast<int>(microbatches_.size());
}

std::string StageCore::error_prefix(const Action& action) const {
  return fmt::format("stage {}, action {}, step {}: ", stage(), to_string(action), step_);
}

ActionResult StageCore::dispatch(const Action& action) {
  const MicrobatchScope scope({options_.noise_seed, step_, action.microbatch});
  const WaitPlace place(options_.training ? symbol_of(action.kind) : "evaluation");
  std::optional<WorkName> work;
  if (!options_.device->is_cpu()) work.emplace(to_string(action));
  Microbatch& mb = at(action.microbatch);
  switch (action.kind) {
    case ActionKind::forward:
      return forward(mb, action.microbatch);
    case ActionKind::backward:
      take_gradients(mb);
      begin_work(action);
      return backward(mb, WeightWork::Mode::now);
    case ActionKind::backward_input:
      take_gradients(mb);
      begin_work(action);
      return backward_input(mb);
    default:
      begin_work(action);
      backward_weight(mb);
      return {};
  }
}

// Starts the timer of an action after its inputs have arrived, so that the device's time
// for it contains no wait for them.
void StageCore::begin_work(const Action& action) {
  if (options_.device->is_cpu()) return;
  timer_ = {WorkLog::current(),
            *options_.device,
            {.name = to_string(action),
             .stage = action.stage,
             .microbatch = action.microbatch,
             .stream = options_.device->current_stream()}};
}

void StageCore::set_training(bool trains) {
  module_trains_ = trains;
  options_.module->set_training(trains);
}

ActionResult StageCore::forward(Microbatch& mb, int index) {
  const c10::AutoGradMode grad_mode(mb.trains);
  if (mb.trains != module_trains_) set_training(mb.trains);
  if (mb.trains) {
    mb.work = c10::make_intrusive<WeightWork>(WeightWork::Mode::now, slot_);
    mb.work->set_before_job(options_.before_weight_job);
    mb.work->set_leaves(leaves_);
  }
  const WeightWork::Scope scope(mb.work);
  const MicrobatchTensors given = std::exchange(mb.given, {});
  use_here(given.inputs, *options_.device);
  use_here(given.shared, *options_.device);
  const TensorMap inputs = takes_activation(index) ? take_activation(mb) : given.inputs;
  begin_work({ActionKind::forward, stage(), index});
  const TensorMap outputs = options_.module->forward(inputs, given.shared);
  mb.phase = Microbatch::Phase::forwarded;
  ActionResult result;
  if (consumes(index)) {
    finish_forward(mb, {step_, index, outputs, given.state});
  } else {
    result.activation = put_outputs(mb, outputs);
  }
  if (!mb.trains) finish(mb);
  return result;
}

// Takes the tensors of the previous stage. Those that need a gradient become leaves of this stage's graph.
TensorMap StageCore::take_activation(Microbatch& mb) {
  TensorMap inputs = take_over(table_, std::exchange(mb.activation, {}), *options_.device);
  for (auto& [name, tensor] : inputs) {
    const bool wants_gradient = mb.trains && tensor.requires_grad();
    tensor = tensor.detach();
    if (!wants_gradient) continue;
    tensor.requires_grad_(true);
    mb.leaves.emplace(name, tensor);
  }
  return inputs;
}

// Hands the outputs on. requires_grad of a tensor asks the next stage for its gradient.
Ticket StageCore::put_outputs(Microbatch& mb, const TensorMap& outputs) {
  TensorMap activation;
  for (const auto& [name, output] : outputs) {
    at::Tensor handed = output.detach();
    if (output.requires_grad()) {
      mb.roots.push_back({name, {torch::autograd::impl::gradient_edge(output), {}}});
      handed.requires_grad_(true);
    }
    activation.emplace(name, std::move(handed));
  }
  return hand_over(table_, std::move(activation), *options_.device);
}

void StageCore::finish_forward(Microbatch& mb, const LastStageOutputs& outputs) {
  if (!mb.trains) return options_.consume_outputs(outputs);
  const StageLoss loss = options_.compute_loss(outputs);
  D9D_REQUIRE(loss.loss.defined() && loss.loss.numel() == 1, "the loss must be a tensor of one element");
  D9D_REQUIRE(std::isfinite(loss.weight) && loss.weight >= 0,
              "the loss has weight {}; expected a number >= 0", loss.weight);
  mb.loss = loss.loss.detach();
  mb.weight = loss.weight;
  if (!loss.loss.requires_grad()) return;
  mb.roots.push_back(
      {"loss", {torch::autograd::impl::gradient_edge(loss.loss), at::full_like(mb.loss, loss.weight)}});
}

void StageCore::take_gradients(Microbatch& mb) {
  if (is_last()) return;
  const TensorMap gradients = take_over(table_, std::exchange(mb.gradient, {}), *options_.device);
  for (Root& root : mb.roots)
    root.at.gradient = tensor_at(gradients, root.name, "the gradient of the next stage");
}

// Runs the input half. The first stage has no inputs that need gradients, so its whole backward waits for W.
ActionResult StageCore::backward_input(Microbatch& mb) {
  mb.phase = Microbatch::Phase::input_done;
  if (is_first()) return {};
  return backward(mb, WeightWork::Mode::deferred);
}

void StageCore::backward_weight(Microbatch& mb) {
  if (is_first()) {
    backward(mb, WeightWork::Mode::now);
    return;
  }
  const WeightWork::Scope scope(mb.work);  // for what is recomputed
  mb.work->set_mode(WeightWork::Mode::now);
  mb.work->run_queued();
  finish(mb);
}

ActionResult StageCore::backward(Microbatch& mb, WeightWork::Mode mode) {
  const bool full = mode == WeightWork::Mode::now;
  mb.work->set_mode(mode);
  if (full) watch_.begin_full_backward(unfinished_ == 1);
  name_unregistered(mb);
  {
    const WeightWork::Scope scope(mb.work);  // for what is recomputed inside the backward
    const auto watch = full ? nullptr : watch_first_split(mb);
    run_backward(mb);
    if (watch) {
      for (const auto& found : watch->not_split()) options_.on_not_split(found.parameter, found.nodes);
    }
  }
  ActionResult result;
  if (!is_first()) result.gradient = put_input_gradients(mb);
  if (full) finish(mb);
  return result;
}

void StageCore::name_unregistered(const Microbatch& mb) {
  if (!options_.on_unregistered || std::exchange(leaves_named_, true)) return;
  SplitWatch::Nodes roots;
  for (const Root& root : mb.roots) roots.push_back(root.at.edge.function);
  std::vector<at::Tensor> known;
  for (const StageParameter& parameter : options_.module->parameters()) known.push_back(parameter.tensor);
  for (const auto& [name, leaf] : mb.leaves) known.push_back(leaf);
  const std::vector<at::Tensor> foreign = other_leaves(roots, known);
  if (!foreign.empty()) options_.on_unregistered(foreign);
}

std::unique_ptr<SplitWatch> StageCore::watch_first_split(const Microbatch& mb) {
  if (!options_.on_not_split || std::exchange(split_watched_, true)) return nullptr;
  SplitWatch::Nodes roots;
  for (const Root& root : mb.roots) roots.push_back(root.at.edge.function);
  return std::make_unique<SplitWatch>(options_.module->parameters(), roots);
}

Ticket StageCore::put_input_gradients(Microbatch& mb) {
  TensorMap gradients;
  for (const auto& [name, leaf] : std::exchange(mb.leaves, {})) {
    D9D_REQUIRE(leaf.grad().defined(),
                "the outputs do not depend on the transfer tensor \"{}\", so it has no gradient; do not pass "
                "it on, or detach it in the stage before",
                name);
    gradients.emplace(name, leaf.grad());
  }
  return hand_over(table_, std::move(gradients), *options_.device);
}

// Ends a microbatch after its last action.
void StageCore::finish(Microbatch& mb) {
  mb.work.reset();
  mb.phase = Microbatch::Phase::finished;
  --unfinished_;
  if (mb.trains) watch_.end_microbatch(unfinished_ == 0);
}

}  // namespace d9d
