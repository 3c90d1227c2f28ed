#include "runtime/rank/group_worker.hpp"

#include <ATen/ops/from_blob.h>

#include "runtime/comm/communicator.hpp"
#include "runtime/rank/rank_gradients.hpp"
#include "runtime/train/gradient_norm.hpp"
#include "runtime/train/gradient_sync.hpp"

namespace d9d {
namespace {

ReduceOp to_reduce_op(ValueOperation operation) {
  switch (operation) {
    case ValueOperation::sum:
      return ReduceOp::sum;
    case ValueOperation::max:
      return ReduceOp::max;
    case ValueOperation::min:
      return ReduceOp::min;
  }
  return ReduceOp::sum;
}

class GroupWorker final : public CollectiveWorker {
 public:
  GroupWorker(std::string name, std::function<std::shared_ptr<Communicator>()> open,
              std::shared_ptr<RankGradients> gradients)
      : name_(std::move(name)), open_(std::move(open)), gradients_(std::move(gradients)) {}

  void prepare() override { communicator_ = open_(); }
  const std::string& name() const override { return name_; }

  double reduce_bucket(int bucket) override {
    const GradientBucket& reduced = bucket_at(bucket);
    reduce_gradients(reduced, *communicator_);
    return squares_share(reduced);
  }

  std::uint64_t bucket_bytes(int bucket) const override { return bucket_at(bucket).grad.nbytes(); }

  void reduce_values(std::vector<double>& values, ValueOperation operation) override {
    if (values.empty()) return;
    at::Tensor view = at::from_blob(values.data(), {static_cast<std::int64_t>(values.size())}, at::kDouble);
    communicator_->all_reduce(view, to_reduce_op(operation));
  }

 private:
  const GradientBucket& bucket_at(int bucket) const {
    return gradients_->parameters->buckets().at(static_cast<std::size_t>(bucket));
  }

  const std::string name_;
  std::function<std::shared_ptr<Communicator>()> open_;
  std::shared_ptr<RankGradients> gradients_;
  std::shared_ptr<Communicator> communicator_;
};

}  // namespace

std::shared_ptr<CollectiveWorker> make_group_worker(std::string name,
                                                    std::function<std::shared_ptr<Communicator>()> open,
                                                    std::shared_ptr<RankGradients> gradients) {
  return std::make_shared<GroupWorker>(std::move(name), std::move(open), std::move(gradients));
}

}  // namespace d9d
