#include "kernels/weight_work.hpp"

#include <ATen/core/LegacyTypeDispatch.h>
#include <c10/core/GradMode.h>

namespace d9d::kernels {
namespace {

c10::intrusive_ptr<WeightWork>& current_of_thread() {
  thread_local c10::intrusive_ptr<WeightWork> work;
  return work;
}

}  // namespace

WeightWork::WeightWork(Mode mode, TemporarySlot slot) : mode_(mode), slot_(std::move(slot)) {
  if (!slot_) slot_ = std::make_shared<std::atomic<bool>>(false);
}

void WeightWork::submit(std::vector<at::Tensor> parameters, Job job) {
  Entry entry{std::move(parameters), std::move(job)};
  if (mode_ == Mode::now) {
    run(entry);
  } else {
    queue_.push_back(std::move(entry));
  }
}

void WeightWork::run_queued() {
  while (!queue_.empty()) {
    run(queue_.front());
    queue_.pop_front();
  }
}

void WeightWork::run(const Entry& entry) const {
  {
    c10::NoGradGuard no_grad;
    at::AutoDispatchBelowADInplaceOrView below_autograd;
    entry.job();
  }
  if (!on_accumulated_) return;
  for (const auto& parameter : entry.parameters) on_accumulated_(parameter);
}

WeightWork::Scope::Scope(c10::intrusive_ptr<WeightWork> work) : previous_(std::move(current_of_thread())) {
  current_of_thread() = std::move(work);
}

WeightWork::Scope::~Scope() {
  current_of_thread() = std::move(previous_);
}

const c10::intrusive_ptr<WeightWork>& WeightWork::current() {
  return current_of_thread();
}

}  // namespace d9d::kernels
