#include "tests/runtime/pipeline/toy_stages.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/mean.h>
#include <ATen/ops/rsqrt.h>
#include <ATen/ops/tanh.h>
#include <ATen/ops/zeros_like.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "kernels/linear.hpp"

namespace d9d::test {
namespace {

at::Tensor random_tensor(const std::string& purpose, at::IntArrayRef shape, double scale = 1,
                         double offset = 0) {
  const RandomStream random(7, purpose);
  at::Tensor tensor = at::empty(shape, at::kDouble);
  double* data = tensor.mutable_data_ptr<double>();
  for (std::int64_t i = 0; i < tensor.numel(); ++i)
    data[i] = offset + scale * random.normal(static_cast<std::uint64_t>(i));
  return tensor;
}

}  // namespace

ToyStage::ToyStage(int stage, int num_stages, ToyOptions options)
    : stage_(stage), last_(stage == num_stages - 1) {
  const auto add = [&](const std::string& name, at::IntArrayRef shape, double scale, double offset,
                       bool trained) {
    StageParameter parameter;
    parameter.name = std::to_string(stage) + "." + name;
    parameter.tensor = random_tensor(parameter.name, shape, scale, offset);
    if (trained && !options.frozen) {
      parameter.tensor.requires_grad_(true);
      parameter.tensor.mutable_grad() = at::zeros_like(parameter.tensor);
    }
    parameters_.push_back(std::move(parameter));
  };
  add("scale", {toy_width}, 0.1, 1, true);
  add("shift", {toy_width}, 0.1, 0, true);
  add("weight", {toy_width, toy_width}, 0.4, 0, true);
  add("frozen", {toy_width}, 0.1, 1, false);
  add("sometimes", {toy_width}, 0.1, 0, true);
  add("unused", {toy_width}, 0.1, 0, true);
}

TensorMap ToyStage::forward(const TensorMap& inputs, const TensorMap& shared) {
  const at::Tensor x = tensor_at(inputs, stage_ == 0 ? "x" : "hidden", "the input");
  const at::Tensor centered = x - x.mean(-1, true);
  at::Tensor h =
      centered * at::rsqrt((centered * centered).mean(-1, true) + 1e-5) * at("scale") + at("shift");
  h = at::tanh(kernels::linear(h, at("weight")));
  h = kernels::linear(h, at("weight")) * at("frozen") + x;
  if (tensor_at(shared, "flag", "shared").item<std::int64_t>() != 0) h = h + at("sometimes");
  if (last_) return {{"y", h}};
  return {{"hidden", h}, {"count", at::full({1}, stage_, at::kLong)}};
}

const at::Tensor& ToyStage::at(const std::string& short_name) const {
  for (const StageParameter& parameter : parameters_) {
    if (parameter.name == std::to_string(stage_) + "." + short_name) return parameter.tensor;
  }
  throw std::out_of_range(short_name);
}

at::Tensor ToyStage::gradient(const std::string& short_name) const {
  return at(short_name).grad();
}

std::vector<MicrobatchTensors> toy_microbatches(int count) {
  std::vector<MicrobatchTensors> microbatches;
  for (int i = 0; i < count; ++i) {
    const std::int64_t rows = 1 + i % 3;
    MicrobatchTensors mb;
    mb.inputs = {{"x", random_tensor("x" + std::to_string(i), {rows, toy_width})}};
    mb.shared = {{"flag", at::full({1}, i % 2, at::kLong)}};
    mb.state = {{"target", random_tensor("target" + std::to_string(i), {rows, toy_width})}};
    microbatches.push_back(std::move(mb));
  }
  return microbatches;
}

StageLoss toy_loss(const LastStageOutputs& outputs) {
  const at::Tensor difference =
      tensor_at(outputs.outputs, "y", "outputs") - tensor_at(outputs.state, "target", "state");
  return {(difference * difference).mean(), static_cast<double>(difference.size(0)) + 0.5};
}

ToyResult toy_sequential(int num_stages, int microbatches) {
  std::vector<ToyStage> stages;
  for (int stage = 0; stage < num_stages; ++stage) stages.emplace_back(stage, num_stages);
  ToyResult result;
  const std::vector<MicrobatchTensors> batch = toy_microbatches(microbatches);
  for (int mb = 0; mb < microbatches; ++mb) {
    const MicrobatchTensors& given = batch[static_cast<std::size_t>(mb)];
    TensorMap tensors = given.inputs;
    for (ToyStage& stage : stages) tensors = stage.forward(tensors, given.shared);
    const StageLoss loss = toy_loss({1, mb, tensors, given.state});
    (loss.loss * loss.weight).backward();
    result.loss_sum += loss.loss.item<double>() * loss.weight;
    result.weight_sum += loss.weight;
  }
  for (ToyStage& stage : stages) {
    for (const StageParameter& p : stage.parameters()) {
      if (p.tensor.requires_grad()) result.gradients[p.name] = p.tensor.grad();
    }
  }
  return result;
}

ToyWorld::ToyWorld(const ScheduleConfig& schedule, int ranks, std::uint64_t seed, bool training,
                   CursorOrder order)
    : programs_(schedule, ranks), random_(seed, "delivery") {
  const int num_stages = topology_of(schedule, ranks).num_stages();
  for (int stage = 0; stage < num_stages; ++stage) {
    modules_.push_back(std::make_shared<ToyStage>(stage, num_stages));
    StageCoreOptions options;
    options.module = modules_.back();
    options.stage = stage;
    options.num_stages = num_stages;
    options.training = training;
    options.compute_loss = toy_loss;
    options.consume_outputs = [this](const LastStageOutputs& outputs) {
      const at::Tensor& y = outputs.outputs.at("y");
      EXPECT_FALSE(y.requires_grad());
      consumed_[outputs.microbatch] = y.sizes().vec();
    };
    options.observer = this;
    cores_.push_back(std::make_unique<StageCore>(std::move(options), table_));
  }
  for (int rank = 0; rank < ranks; ++rank) cursors_.push_back(make_cursor(order, rank));
}

void ToyWorld::run_step(int microbatches) {
  program_ = programs_.get(microbatches);
  history_.assign(cursors_.size(), "");
  completed_.clear();
  const std::vector<MicrobatchTensors> batch = toy_microbatches(microbatches);
  for (const auto& core : cores_) core->begin_step(++step_, batch);
  for (const auto& cursor : cursors_) cursor->start(program_);
  int idle = 0;
  while (!done()) {
    ASSERT_LT(idle, 10000) << "nothing moves";
    const std::uint64_t choice = draw(bag_.size() + cursors_.size());
    const bool moved =
        choice < bag_.size() ? (deliver(choice), true) : advance(static_cast<int>(choice - bag_.size()));
    idle = moved ? 0 : idle + 1;
  }
  result_ = {};
  for (std::size_t stage = 0; stage < cores_.size(); ++stage) {
    EXPECT_EQ(cores_[stage]->num_cached(), 0);
    const StageTotals totals = cores_[stage]->finish_step();
    result_.loss_sum += totals.loss_sum;
    result_.weight_sum += totals.weight_sum;
    for (const StageParameter& p : modules_[stage]->parameters()) {
      if (p.tensor.requires_grad()) result_.gradients[p.name] = p.tensor.grad();
    }
  }
}

void ToyWorld::gradient_complete(int stage, std::size_t parameter, bool /*last*/) {
  const StageParameter complete = modules_[static_cast<std::size_t>(stage)]->parameters()[parameter];
  completed_.emplace_back(complete.name, complete.tensor.grad().clone());
}

bool ToyWorld::done() const {
  return std::all_of(cursors_.begin(), cursors_.end(), [](const auto& cursor) { return cursor->done(); });
}

bool ToyWorld::advance(int rank) {
  const auto core_of = [&](const Action& action) -> StageCore& {
    return *cores_[static_cast<std::size_t>(action.stage)];
  };
  const auto instruction = cursors_[static_cast<std::size_t>(rank)]->advance(
      [&](const Action& action) { return core_of(action).ready(action); }, now_++);
  if (!instruction) return false;
  std::string& history = history_[static_cast<std::size_t>(rank)];
  history += (history.empty() ? "" : " ") + to_string(*instruction);
  for (const Action& action : instruction->parts) send(action, core_of(action).run(action));
  return true;
}

void ToyWorld::send(const Action& action, const ActionResult& result) {
  if (result.activation) bag_.push_back({false, action.stage + 1, action.microbatch, result.activation});
  if (result.gradient) bag_.push_back({true, action.stage - 1, action.microbatch, result.gradient});
}

void ToyWorld::deliver(std::size_t index) {
  const Message message = bag_[index];
  bag_.erase(bag_.begin() + static_cast<std::ptrdiff_t>(index));
  StageCore& core = *cores_[static_cast<std::size_t>(message.stage)];
  if (message.gradient) {
    core.put_gradient(message.microbatch, message.ticket);
  } else {
    core.put_activation(message.microbatch, message.ticket);
  }
}

}  // namespace d9d::test
