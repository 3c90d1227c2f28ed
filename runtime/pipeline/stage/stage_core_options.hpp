#pragma once
// What a StageCore is given: its module, its microbatches, and whom it tells.

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
  TensorMap inputs;  // of the pipeline; only the first stage looks at it
  TensorMap shared;  // for every stage
  TensorMap state;   // only the last stage looks at it
  // In training: F alone, without a graph, its outputs to consume_outputs. Such microbatches come first in a step.
  bool forward_only = false;
};

// What the last stage's callbacks see, during F.
struct LastStageOutputs {
  std::uint64_t step;
  int microbatch;
  const TensorMap& outputs;
  const TensorMap& state;
};

struct StageLoss {
  at::Tensor loss;  // one element
  double weight =
      1;  // finite, >= 0. With 0 the loss counts as 0 in the sum; its gradient is still sent back, times 0
};

struct StageCoreOptions {
  std::shared_ptr<StageModule> module;
  std::shared_ptr<Device> device = cpu_device();  // that it computes on
  bool synchronous = false;  // the host waits for the device behind each action, whose errors then name it
  int stage = 0;
  int num_stages = 1;
  // Of what modules draw in forward (runtime/tensor/microbatch_scope.hpp).
  std::uint64_t noise_seed = 0;
  // Without training F runs without a graph and is the only action. Cores of both kinds may share a module, if the
  // step of one is finished before that of the other begins.
  bool training = true;
  // Without training: a step's microbatches are so many passes of equally many, pass after pass. Behind each but the
  // last pass, the outputs of the last stage are the activation of the first one's microbatch of the next pass.
  int passes = 1;
  // Last stage. Training needs compute_loss; the backward is
  // seeded with weight * loss. Otherwise, and for microbatches of forward alone, consume_outputs.
  std::function<StageLoss(const LastStageOutputs&)> compute_loss;
  std::function<void(const LastStageOutputs&)> consume_outputs;
  // Hears which gradients are complete, with `each_microbatch` also after each microbatch; may be null.
  GradientObserver* observer = nullptr;
  bool each_microbatch = false;
  // Called inside run() behind the stage's first I, for each trainable
  // parameter whose gradient that I computed already, because the named nodes
  // of autograd cannot leave it to W: the numbers are right, only not split.
  std::function<void(std::size_t parameter, const std::string& nodes)> on_not_split;
  // Called before the stage's first backward, where that comes to tensors which are neither parameters of the module nor
  // its inputs: layers that were never registered.
  std::function<void(const std::vector<at::Tensor>&)> on_unregistered;
  // Of a plugin's model, for errors: what it throws is no bug of d9d.
  std::string whose;
  // See kernels::WeightWork::set_before_job. Where it is set, only ops of kernels/ leave weights to W.
  std::function<void(const at::Tensor& parameter, bool reads)> before_weight_job;
};

}  // namespace d9d
