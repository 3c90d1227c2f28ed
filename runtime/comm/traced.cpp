#include "runtime/comm/traced.hpp"

#include <algorithm>

namespace d9d {
namespace {

std::uint64_t larger(const at::Tensor& a, const at::Tensor& b) {
  return std::max(a.nbytes(), b.nbytes());
}

class TracedCommunicator final : public Communicator {
 public:
  TracedCommunicator(std::shared_ptr<Communicator> inner, AroundWork around)
      : inner_(std::move(inner)), around_(std::move(around)) {}

  int rank() const override { return inner_->rank(); }
  int size() const override { return inner_->size(); }
  const std::string& name() const override { return inner_->name(); }
  const std::string& backend() const override { return inner_->backend(); }

  void all_reduce(at::Tensor& tensor, ReduceOp op) override {
    around_(all_reduce_, tensor.nbytes(), [&] { inner_->all_reduce(tensor, op); });
  }
  void reduce_scatter(at::Tensor& output, const at::Tensor& input, ReduceOp op) override {
    around_(reduce_scatter_, larger(output, input), [&] { inner_->reduce_scatter(output, input, op); });
  }
  void all_gather(at::Tensor& output, const at::Tensor& input) override {
    around_(all_gather_, larger(output, input), [&] { inner_->all_gather(output, input); });
  }
  void gather_shards(at::Tensor& whole, const at::Tensor& shard, const ShardMap& map) override {
    around_(gather_shards_, larger(whole, shard), [&] { inner_->gather_shards(whole, shard, map); });
  }
  void sum_to_shards(at::Tensor& shard, const at::Tensor& whole, const ShardMap& map) override {
    around_(sum_to_shards_, larger(shard, whole), [&] { inner_->sum_to_shards(shard, whole, map); });
  }
  void all_to_all(at::Tensor& output, const at::Tensor& input, const std::vector<std::int64_t>& output_splits,
                  const std::vector<std::int64_t>& input_splits) override {
    around_(all_to_all_, larger(output, input),
            [&] { inner_->all_to_all(output, input, output_splits, input_splits); });
  }
  void broadcast(at::Tensor& tensor, int root) override {
    around_(broadcast_, tensor.nbytes(), [&] { inner_->broadcast(tensor, root); });
  }
  void barrier() override {
    around_(barrier_, 0, [&] { inner_->barrier(); });
  }
  void send(const at::Tensor& tensor, int receiver, int tag) override { inner_->send(tensor, receiver, tag); }
  void receive(at::Tensor& tensor, int sender, int tag) override {
    around_(receive_, tensor.nbytes(), [&] { inner_->receive(tensor, sender, tag); });
  }
  void wait() override { inner_->wait(); }
  void abort(const std::string& reason) noexcept override { inner_->abort(reason); }
  void set_timeout(std::chrono::milliseconds timeout) override { inner_->set_timeout(timeout); }

 private:
  std::string of_group(const char* operation) const { return std::string(operation) + " " + name(); }

  const std::shared_ptr<Communicator> inner_;
  const AroundWork around_;
  // Made once: a call is traced in less than a microsecond.
  const std::string all_reduce_ = of_group("all_reduce");
  const std::string reduce_scatter_ = of_group("reduce_scatter");
  const std::string all_gather_ = of_group("all_gather");
  const std::string gather_shards_ = of_group("gather_shards");
  const std::string sum_to_shards_ = of_group("sum_to_shards");
  const std::string all_to_all_ = of_group("all_to_all");
  const std::string broadcast_ = of_group("broadcast");
  const std::string barrier_ = of_group("barrier");
  const std::string receive_ = of_group("receive");
};

}  // namespace

std::unique_ptr<Communicator> make_traced(std::shared_ptr<Communicator> inner, AroundWork around) {
  return std::make_unique<TracedCommunicator>(std::move(inner), std::move(around));
}

}  // namespace d9d
