#include "runtime/pipeline/stage/parameter_watch.hpp"

#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>

#include <functional>
#include <utility>

#include "runtime/base/error.hpp"

namespace d9d {
namespace {

using torch::autograd::variable_list;

class Hook final : public torch::autograd::FunctionPostHook {
 public:
  explicit Hook(std::function<void()> call) : call_(std::move(call)) {}
  variable_list operator()(const variable_list& outputs, const variable_list&) override {
    call_();
    return outputs;
  }

 private:
  std::function<void()> call_;
};

}  // namespace

ParameterWatch::ParameterWatch(const std::vector<StageParameter>& parameters, int stage,
                               GradientObserver* observer, bool each_microbatch)
    : stage_(stage), observer_(observer), each_microbatch_(each_microbatch) {
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (!parameters[i].tensor.requires_grad()) continue;
    auto entry = std::make_unique<Entry>();
    entry->index = i;
    // The tensor has only a weak reference to its accumulator, so without this one the hook
    // would die with the first graph.
    entry->accumulator = torch::autograd::impl::grad_accumulator(parameters[i].tensor);
    entry->hook =
        entry->accumulator->add_post_hook(std::make_unique<Hook>([this, e = entry.get()] { passed(*e); }));
    entries_.push_back(std::move(entry));
  }
}

ParameterWatch::~ParameterWatch() {
  for (const auto& entry : entries_) entry->accumulator->del_post_hook(entry->hook);
}

void ParameterWatch::begin_step() {
  last_ = in_full_backward_ = false;
  in_step_ = true;
  for (const auto& entry : entries_) entry->complete = entry->reached = false;
}

std::vector<std::size_t> ParameterWatch::unreached() const {
  std::vector<std::size_t> indices;
  for (const auto& entry : entries_) {
    if (!entry->reached) indices.push_back(entry->index);
  }
  return indices;
}

void ParameterWatch::begin_full_backward(bool last) {
  in_full_backward_ = true;
  last_ = last;
}

void ParameterWatch::end_microbatch(bool last) {
  last_ = last;
  in_full_backward_ = false;
  for (const auto& entry : entries_) {
    if (reports() && !entry->complete) report(*entry);
    if (!last) entry->complete = false;
  }
  if (last) in_step_ = false;
  last_ = false;
}

void ParameterWatch::passed(Entry& entry) {
  if (!in_step_) return;  // a backward that does not belong to a step
  entry.reached = true;
  // Autograd passes twice when a backward inside the backward (recomputation) uses a parameter that
  // another part of the model uses, too.
  D9D_CHECK(!entry.complete, "the gradient of parameter {} grew after it was declared complete", entry.index);
  if (in_full_backward_ && reports()) report(entry);
}

void ParameterWatch::report(Entry& entry) {
  entry.complete = true;
  if (observer_ != nullptr) observer_->gradient_complete(stage_, entry.index, last_);
}

}  // namespace d9d
