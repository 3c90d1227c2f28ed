#include "runtime/comm/lane_communicator.hpp"

#include "runtime/base/error.hpp"

namespace d9d {
namespace {

class LaneCommunicator final : public Communicator {
 public:
  LaneCommunicator(std::vector<std::shared_ptr<Communicator>> by_lane, ComputeLanes& lanes)
      : by_lane_(std::move(by_lane)), lanes_(lanes) {
    D9D_CHECK(by_lane_.size() == ComputeLanes::kCount, "{} communicators for {} lanes", by_lane_.size(),
              ComputeLanes::kCount);
  }

  int rank() const override { return by_lane_.front()->rank(); }
  int size() const override { return by_lane_.front()->size(); }
  const std::string& name() const override { return by_lane_.front()->name(); }
  const std::string& backend() const override { return by_lane_.front()->backend(); }

  void all_reduce(at::Tensor& tensor, ReduceOp op) override {
    away([&](Communicator& mine) { mine.all_reduce(tensor, op); });
  }
  void reduce_scatter(at::Tensor& output, const at::Tensor& input, ReduceOp op) override {
    away([&](Communicator& mine) { mine.reduce_scatter(output, input, op); });
  }
  void all_gather(at::Tensor& output, const at::Tensor& input) override {
    away([&](Communicator& mine) { mine.all_gather(output, input); });
  }
  void gather_shards(at::Tensor& whole, const at::Tensor& shard, const ShardMap& map) override {
    away([&](Communicator& mine) { mine.gather_shards(whole, shard, map); });
  }
  void sum_to_shards(at::Tensor& shard, const at::Tensor& whole, const ShardMap& map) override {
    away([&](Communicator& mine) { mine.sum_to_shards(shard, whole, map); });
  }
  void all_to_all(at::Tensor& output, const at::Tensor& input, const std::vector<std::int64_t>& output_splits,
                  const std::vector<std::int64_t>& input_splits) override {
    away([&](Communicator& mine) { mine.all_to_all(output, input, output_splits, input_splits); });
  }
  void broadcast(at::Tensor& tensor, int root) override {
    away([&](Communicator& mine) { mine.broadcast(tensor, root); });
  }
  void barrier() override {
    away([](Communicator& mine) { mine.barrier(); });
  }
  // Does not wait.
  void send(const at::Tensor& tensor, int receiver, int tag) override { mine().send(tensor, receiver, tag); }
  void receive(at::Tensor& tensor, int sender, int tag) override {
    away([&](Communicator& mine) { mine.receive(tensor, sender, tag); });
  }
  void wait() override {
    away([](Communicator& mine) { mine.wait(); });
  }
  void abort(const std::string& reason) noexcept override {
    for (const auto& communicator : by_lane_) communicator->abort(reason);
  }
  void set_timeout(std::chrono::milliseconds timeout) override {
    for (const auto& communicator : by_lane_) communicator->set_timeout(timeout);
  }

 private:
  Communicator& mine() const { return *by_lane_[static_cast<std::size_t>(lanes_.current().value_or(0))]; }
  template <class Call>
  void away(Call&& call) {
    const ComputeLanes::Away away(lanes_);
    call(mine());
  }

  const std::vector<std::shared_ptr<Communicator>> by_lane_;
  ComputeLanes& lanes_;
};

}  // namespace

std::unique_ptr<Communicator> make_lane_communicator(std::vector<std::shared_ptr<Communicator>> by_lane,
                                                     ComputeLanes& lanes) {
  return std::make_unique<LaneCommunicator>(std::move(by_lane), lanes);
}

}  // namespace d9d
