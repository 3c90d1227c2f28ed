#pragma once
// The inputs of a StageCore: its module, its microbatches, and its observers.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/device/device.hpp"
#include "runtime/pipeline/stage/step_observer.hpp"
#include "runtime/tensor/stage_module.hpp"
#include "runtime/tensor/tensor_map.hpp"

namespace d9d {

struct MicrobatchTensors {
  TensorMap inputs;  // of the pipeline; only the first stage reads them
  TensorMap shared;  // for every stage
  TensorMap state;   // only the last stage reads it
  // In training: the microbatch has F alone, without a graph, and its outputs go to consume_outputs. Such
  // microbatches come first in a step.
  bool forward_only = false;
};

// The argument of the last stage's callbacks, valid during F.
struct LastStageOutputs {
  std::uint64_t step;
  int microbatch;
  const TensorMap& outputs;
  const TensorMap& state;
};

struct StageLoss {
  at::Tensor loss;  // one element
  // Finite, at least 0. With 0 the loss does not count in the sum, but its
  // gradient is still sent back, times 0.
  double weight = 1;
};

struct StageCoreOptions {
  std::shared_ptr<StageModule> module;
  std::shared_ptr<Device> device = cpu_device();  // computes the stage
  bool synchronous = false;  // the host waits after each action, so that errors of the device name it
  int stage = 0;
  int num_stages = 1;
  // The seed of numbers that modules draw in forward (runtime/tensor/microbatch_scope.hpp).
  std::uint64_t noise_seed = 0;
  // false: F runs without a graph and is the only action. Cores of both kinds may share a module, if the
  // step of one is finished before the step of the other begins.
  bool training = true;
  // Without training: the number of passes in a step. Its microbatches come pass after pass,
  // equally many in each. After each pass but the last, the outputs of the last stage are the
  // inputs of the first stage in the next pass.
  int passes = 1;
  // Callbacks of the last stage. Microbatches that train need compute_loss; the backward starts from weight
  // * loss. All others need consume_outputs.
  std::function<StageLoss(const LastStageOutputs&)> compute_loss;
  std::function<void(const LastStageOutputs&)> consume_outputs;
  // Is called for complete gradients, with `each_microbatch` also after each microbatch. May be null.
  GradientObserver* observer = nullptr;
  bool each_microbatch = false;
  // Called inside run() after the stage's first I, for each trainable parameter whose gradient was
  // computed in I, because the named autograd nodes cannot defer it to W. The numbers are right, but
  // the backward is not split there.
  std::function<void(std::size_t parameter, const std::string& nodes)> on_not_split;
  // Called before the stage's first backward if that would reach tensors which are neither parameters of the
  // module nor inputs: they belong to layers that were never registered.
  std::function<void(const std::vector<at::Tensor>&)> on_unregistered;
  // The name of a plugin's model, for errors: its exceptions are no bugs of d9d.
  std::string whose;
  // See kernels::WeightWork::set_before_job. If it is set, only ops of kernels/ defer weight gradients to W.
  std::function<void(const at::Tensor& parameter, bool reads)> before_weight_job;
};

}  // namespace d9d
