#include "kernels/graph/weight_work.hpp"

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/ops/empty.h>
#include <c10/core/GradMode.h>

namespace d9d::kernels {
namespace {

c10::intrusive_ptr<WeightWork>& current_of_thread() {
  thread_local c10::intrusive_ptr<WeightWork> work;
  return work;
}

}  // namespace

at::Tensor TemporarySlot::borrow(at::IntArrayRef sizes, const at::TensorOptions& options) {
  if (borrowed_.exchange(true)) return {};
  if (!buffer_.defined() || buffer_.sizes() != sizes || buffer_.scalar_type() != options.dtype() ||
      buffer_.device() != options.device()) {
    buffer_ = at::empty(sizes, options);
  }
  return buffer_;
}

WeightWork::WeightWork(Mode mode, std::shared_ptr<TemporarySlot> slot) : mode_(mode), slot_(std::move(slot)) {
  if (!slot_) slot_ = std::make_shared<TemporarySlot>();
}

void WeightWork::submit(std::vector<at::Tensor> parameters, Job job, bool reads) {
  Entry entry{std::move(parameters), std::move(job), reads};
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
  if (entry.runs_autograd) return entry.job();
  if (before_job_) {
    for (const auto& parameter : entry.parameters) before_job_(parameter, entry.reads);
  }
  c10::NoGradGuard no_grad;
  at::AutoDispatchBelowADInplaceOrView below_autograd;
  entry.job();
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
