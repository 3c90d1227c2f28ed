#pragma once
// Reports when the gradient of a parameter is complete for a step. Internal to the stage core; needs torch.
//
// It puts a hook after the AccumulateGrad node of each trainable parameter. Autograd runs this node
// once per backward, after every use of the parameter, even when the node gets no gradient (weight
// work adds gradients by itself).

#include <memory>
#include <vector>

#include "kernels/graph/node_pointer.hpp"
#include "runtime/pipeline/stage/step_observer.hpp"
#include "runtime/tensor/stage_module.hpp"

namespace d9d {

class ParameterWatch {
 public:
  // Watches the parameters that require a gradient, and reports them by their index in
  // `parameters`. `observer` may be null; it must outlive this object. With `each_microbatch` it is
  // called for each microbatch, too.
  ParameterWatch(const std::vector<StageParameter>& parameters, int stage, GradientObserver* observer,
                 bool each_microbatch);
  ~ParameterWatch();
  ParameterWatch(const ParameterWatch&) = delete;
  ParameterWatch& operator=(const ParameterWatch&) = delete;

  // Begins a step: no gradient is complete.
  void begin_step();
  // Call it before a full backward. In it a parameter is complete, for the microbatch or (`last`) for the
  // step, as soon as autograd has finished with it.
  void begin_full_backward(bool last);
  // Call it after a microbatch's last action. Reports the parameters that are not complete yet.
  void end_microbatch(bool last);
  // Returns the indices of parameters that no backward of the step has reached: no loss depends on them.
  std::vector<std::size_t> unreached() const;

 private:
  struct Entry {
    std::size_t index;
    kernels::NodePointer<torch::autograd::Node> accumulator;
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
