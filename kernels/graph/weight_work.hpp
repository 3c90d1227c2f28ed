#pragma once
// Computes weight gradients now or later, so that a backward pass can be split into its input half (action I) and
// its weight half (action W). All ops of kernels/ that have weights use it.
//
// An op's forward remembers the WeightWork that is current on its thread. Its backward returns no gradient for
// the weight, but submits a job that adds the gradient to `parameter.grad()`, which must be defined, in fp32 or
// the parameter's dtype. Without a current WeightWork, or for a weight that is not a leaf with a gradient
// buffer, the op returns the gradient as any torch op does. Not thread-safe.

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <unordered_set>
#include <vector>

namespace d9d::kernels {

// One buffer that a forward may borrow until its backward (see linear_cross_entropy). The WeightWorks of a
// stage's microbatches share it, so a stage needs only one. The memory is kept between uses, because fresh
// pages cost as much as the numbers written to them.
class TemporarySlot {
 public:
  // Returns an uninitialised tensor, or an undefined one if the buffer is borrowed already.
  at::Tensor borrow(at::IntArrayRef sizes, const at::TensorOptions& options);
  void give_back() { borrowed_ = false; }

 private:
  std::atomic<bool> borrowed_ = false;
  at::Tensor buffer_;
};

class WeightWork : public torch::CustomClassHolder {
 public:
  enum class Mode { now, deferred };
  using Job = std::function<void()>;

  explicit WeightWork(Mode mode = Mode::now, std::shared_ptr<TemporarySlot> slot = nullptr);

  Mode mode() const { return mode_; }
  // The mode matters when backward runs, not when forward did.
  void set_mode(Mode mode) { mode_ = mode; }

  // Called before a job runs, for each of its parameters. `reads`: the job reads their values.
  using BeforeJob = std::function<void(const at::Tensor& parameter, bool reads)>;
  void set_before_job(BeforeJob callback) { before_job_ = std::move(callback); }

  // Runs or queues a job that adds to the gradients of `parameters`. `reads`: it also reads their values.
  void submit(std::vector<at::Tensor> parameters, Job job, bool reads = false);
  // Queues a job that runs autograd (split_backward.hpp).
  void submit_backward(Job job) { queue_.push_back({{}, std::move(job), false, true}); }
  // Runs all queued jobs in the order of submission (action W). If a job throws, it and
  // the rest stay queued.
  void run_queued();
  std::size_t pending() const { return queue_.size(); }
  // Drops all queued jobs, for a step that was abandoned. Jobs hold the graph and the graph holds the
  // WeightWork: without this both would stay for ever.
  void discard() { queue_.clear(); }

  // The leaves whose gradients split_backward.hpp may submit as jobs; null: none.
  using Leaves = std::unordered_set<const c10::TensorImpl*>;
  void set_leaves(std::shared_ptr<const Leaves> leaves) { leaves_ = std::move(leaves); }
  const std::shared_ptr<const Leaves>& leaves() const { return leaves_; }

  const std::shared_ptr<TemporarySlot>& slot() const { return slot_; }

  // Makes `work` (may be null) current on this thread until the scope ends; scopes nest.
  class Scope {
   public:
    explicit Scope(c10::intrusive_ptr<WeightWork> work);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    c10::intrusive_ptr<WeightWork> previous_;
  };
  // Returns the WeightWork of this thread, or null outside of scopes.
  static const c10::intrusive_ptr<WeightWork>& current();

 private:
  struct Entry {
    std::vector<at::Tensor> parameters;
    Job job;
    bool reads = false;
    bool runs_autograd = false;
  };
  void run(const Entry& entry) const;

  Mode mode_;
  std::shared_ptr<TemporarySlot> slot_;
  std::shared_ptr<const Leaves> leaves_;
  BeforeJob before_job_;
  std::deque<Entry> queue_;
};

}  // namespace d9d::kernels
