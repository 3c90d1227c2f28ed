#include "runtime/rank/group_worker.hpp"

#include <ATen/ops/from_blob.h>
#include <fmt/format.h>

#include <optional>

#include "runtime/comm/communicator.hpp"
#include "runtime/device/device.hpp"
#include "runtime/device/host_waits.hpp"
#include "runtime/device/work_name.hpp"
#include "runtime/rank/rank_gradients.hpp"
#include "runtime/train/gradient_norm.hpp"
#include "runtime/train/gradient_sync.hpp"
#include "runtime/train/norm_parts.hpp"

namespace d9d {
namespace {

class GroupWorker final : public CollectiveWorker {
 public:
  explicit GroupWorker(GroupWorkerOptions options) : options_(std::move(options)) {}

  void prepare() override {
    if (options_.scatter) scatter_ = options_.scatter();
    if (options_.sum) sum_ = options_.sum();
  }
  const std::string& name() const override { return options_.name; }
  const char* reduction() const override { return scatter_ ? "reduce_scatter" : "all_reduce"; }

  double reduce_bucket(int bucket) override {
    const GradientBucket& reduced = bucket_at(bucket);
    const WaitPlace place("gradients");
    Device& device = device_of(reduced.grad.device());
    std::optional<WorkName> work;
    if (!device.is_cpu()) work.emplace(fmt::format("reduction of bucket {}", bucket));
    const StreamScope scope(device, StreamRole::communicate);
    // A unit's gradient has an event of its own: its bucket may be complete once more before this one is reduced.
    if (!reduced.unit) device.wait(options_.gradients->events.complete(bucket));
    const bool whole = !scatter_ || reduced.unit->reduce_gradient(reduced.grad, *scatter_);
    if (whole && sum_) reduce_gradients(reduced, *sum_);
    if (!whole || reduced.tied) options_.gradients->events.set_reduced(bucket, device.record());
    if (!whole || reduced.tied) return 0;
    if (device.is_cpu()) return share_of_norm(reduced, options_.norm);
    options_.gradients->norm_parts->add(share_of_norm_later(reduced, options_.norm));
    options_.gradients->events.set_reduced(bucket, device.record());
    return 0;
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
