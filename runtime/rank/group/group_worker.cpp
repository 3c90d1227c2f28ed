#include "runtime/rank/group/group_worker.hpp"

#include <ATen/ops/from_blob.h>
#include <fmt/format.h>

#include "runtime/comm/communicator.hpp"
#include "runtime/device/device.hpp"
#include "runtime/device/host_waits.hpp"
#include "runtime/device/work_name.hpp"
#include "runtime/rank/group/rank_gradients.hpp"
#include "runtime/train/gradient/gradient_norm.hpp"
#include "runtime/train/gradient/gradient_sync.hpp"
#include "runtime/train/gradient/norm_parts.hpp"

namespace d9d {
namespace {

class GroupWorker final : public CollectiveWorker,
                          public BucketReduction,
                          public std::enable_shared_from_this<GroupWorker> {
 public:
  explicit GroupWorker(GroupWorkerOptions options) : options_(std::move(options)) {}

  void prepare() override {
    if (options_.scatter) scatter_ = options_.scatter();
    if (options_.sum) sum_ = options_.sum();
    if (options_.gradients && options_.group >= 0)
      options_.gradients->reductions.add(options_.group, weak_from_this());
  }
  void close() override {
    scatter_ = nullptr;
    sum_ = nullptr;
  }
  const std::string& name() const override { return options_.name; }
  const char* reduction() const override { return options_.scatter ? "reduce_scatter" : "all_reduce"; }

  double reduce_bucket(int bucket) override {
    const GradientBucket& reduced = bucket_at(bucket);
    // The rank has launched the sum already (rank_gradients.hpp), and its share
    // of the norm stays on the device.
    if (!device_of(reduced.grad.device()).is_cpu()) return 0;
    const bool whole = sum(reduced);
    return whole && !reduced.tied ? share_of_norm(reduced, options_.norm) : 0;
  }

  void launch(int bucket) override {
    const GradientBucket& reduced = bucket_at(bucket);
    Device& device = device_of(reduced.grad.device());
    const WorkName work(fmt::format("reduction of bucket {}", bucket));
    const Event complete = device.record();  // the gradients that the current stream has queued so far
    const WaitPlace place("gradients");
    const StreamScope scope(device, StreamRole::communicate);
    device.wait(complete);
    if (sum(reduced) && !reduced.tied)
      options_.gradients->norm_parts->add(share_of_norm_later(reduced, options_.norm));
    options_.gradients->reductions.set_reduced(bucket, device.record());
  }

  void connect() override {
    if (scatter_) scatter_->connect();
    if (sum_) sum_->connect();
  }

  void check() const override {
    if (scatter_) scatter_->check();
    if (sum_) sum_->check();
  }

  std::uint64_t bucket_bytes(int bucket) const override {
    const GradientBucket& reduced = bucket_at(bucket);
    return reduced.unit ? reduced.unit->gradient_bytes() : reduced.grad.nbytes();
  }

  void reduce_values(std::vector<double>& values, ReduceOp operation) override {
    if (values.empty()) return;
    at::Tensor view = at::from_blob(values.data(), {static_cast<std::int64_t>(values.size())}, at::kDouble);
    sum_->all_reduce(view, operation).wait();
  }

 private:
  // Sums the bucket. Returns whether its gradient is complete now, so that it counts in the norm.
  bool sum(const GradientBucket& reduced) const {
    const bool whole = !scatter_ || reduced.unit->reduce_gradient(reduced.grad, *scatter_);
    if (whole && sum_) reduce_gradients(reduced, *sum_);
    return whole;
  }
  const GradientBucket& bucket_at(int bucket) const {
    return options_.gradients->parameters->buckets().at(static_cast<std::size_t>(bucket));
  }

  const GroupWorkerOptions options_;
  std::shared_ptr<Communicator> scatter_;
  std::shared_ptr<Communicator> sum_;
};

}  // namespace

std::shared_ptr<CollectiveWorker> make_group_worker(GroupWorkerOptions options) {
  return std::make_shared<GroupWorker>(std::move(options));
}

}  // namespace d9d
