#pragma once
// Tells when a parameter's gradient has seen its last addition
// of a step. Internal to the stage core; needs torch.
//
// How: a hook behind the AccumulateGrad node of each trainable parameter.
// Autograd runs that node once per backward, when every use of the parameter is
// through, also when the gradient went another way (weight work returns none).

#include <ATen/core/Tensor.h>

#include <memory>
#include <vector>

#include "runtime/pipeline/stage/step_observer.hpp"
#include "runtime/tensor/stage_module.hpp"

namespace torch::autograd {
struct Node;
}

namespace d9d {

class ParameterWatch {
 public:
  // Watches those that require a gradient; indices are those of `parameters`. The observer hears of each
  // microbatch, too, if `each_microbatch`; it may be null, and outlives this object.
  ParameterWatch(const std::vector<StageParameter>& parameters, int stage, GradientObserver* observer,
                 bool each_microbatch);
  ~ParameterWatch();
  ParameterWatch(const ParameterWatch&) = delete;
  ParameterWatch& operator=(const ParameterWatch&) = delete;

  // A new step: nothing is complete.
  void begin_step();
  // From here on a parameter is complete, of its microbatch
  // or of the step, as soon as autograd is through with it.
  void begin_full_backward(bool last);
  // A microbatch's last action ended: whatever is not complete yet is now.
  void end_microbatch(bool last);
  // Those that no backward of the step has come to, by their index: no loss depends on them.
  std::vector<std::size_t> unreached() const;

 private:
  struct Entry {
    std::size_t index;
    std::shared_ptr<torch::autograd::Node> accumulator;
    std::uintptr_t hook = 0;
    bool complete = false;
    bool reached = false;
  };
  void passed(Entry& entry);
  void report(Entry& entry);
  bool reports() const { return last_ || each_microbatch_; }

  const int stage_;
  GradientObserver* const observer_;
  const bool each_microbatch_;
  std::vector<std::unique_ptr<Entry>> entries_;
  bool in_step_ = false;
  bool in_full_backward_ = false;
  bool last_ = false;
};

}  // namespace d9d
