#include "runtime/comm/checked.hpp"

#include <ATen/ops/from_blob.h>

#include <array>

#include "runtime/base/error.hpp"

namespace d9d {
namespace {

enum Operation : std::int64_t { all_reduce, reduce_scatter, all_gather, all_to_all, broadcast, barrier, gather_shards, sum_to_shards };
constexpr std::array<const char*, 8> kNames = {"all_reduce", "reduce_scatter", "all_gather",    "all_to_all",
                                               "broadcast",  "barrier",        "gather_shards", "sum_to_shards"};

// operation, dtype, elements (of a row in all_to_all), reduction or root
using Signature = std::array<std::int64_t, 4>;

std::string text_of(const std::int64_t* signature) {
  const auto dtype = static_cast<c10::ScalarType>(signature[1]);
  return fmt::format("{}({}, {} elements, {} {})", kNames.at(signature[0]), c10::toString(dtype),
                     signature[2], signature[0] == broadcast ? "root" : "op", signature[3]);
}

class CheckedCommunicator final : public Communicator {
 public:
  explicit CheckedCommunicator(std::unique_ptr<Communicator> inner) : inner_(std::move(inner)) {}

  int rank() const override { return inner_->rank(); }
  int size() const override { return inner_->size(); }
  const std::string& name() const override { return inner_->name(); }
  const std::string& backend() const override { return inner_->backend(); }

  void all_reduce(at::Tensor& tensor, ReduceOp op) override {
    compare({Operation::all_reduce, type_of(tensor), tensor.numel(), static_cast<int>(op)});
    inner_->all_reduce(tensor, op);
  }
  void reduce_scatter(at::Tensor& output, const at::Tensor& input, ReduceOp op) override {
    compare({Operation::reduce_scatter, type_of(input), output.numel(), static_cast<int>(op)});
    inner_->reduce_scatter(output, input, op);
  }
  void all_gather(at::Tensor& output, const at::Tensor& input) override {
    compare({Operation::all_gather, type_of(input), input.numel(), 0});
    inner_->all_gather(output, input);
  }
  void gather_shards(at::Tensor& whole, const at::Tensor& shard, const ShardMap& map) override {
    compare({Operation::gather_shards, type_of(whole), whole.numel(), 0});
    inner_->gather_shards(whole, shard, map);
  }
  void sum_to_shards(at::Tensor& shard, const at::Tensor& whole, const ShardMap& map) override {
    compare({Operation::sum_to_shards, type_of(whole), whole.numel(), 0});
    inner_->sum_to_shards(shard, whole, map);
  }
  void all_to_all(at::Tensor& output, const at::Tensor& input, const std::vector<std::int64_t>& output_splits,
                  const std::vector<std::int64_t>& input_splits) override {
    std::int64_t row = 1;
    for (std::int64_t dim = 1; dim < input.dim(); ++dim) row *= input.size(dim);
    compare({Operation::all_to_all, type_of(input), row, 0});
    compare_splits(output_splits, input_splits);
    inner_->all_to_all(output, input, output_splits, input_splits);
  }
  void broadcast(at::Tensor& tensor, int root) override {
    compare({Operation::broadcast, type_of(tensor), tensor.numel(), root});
    inner_->broadcast(tensor, root);
  }
  void barrier() override {
    compare({Operation::barrier, 0, 0, 0});
    inner_->barrier();
  }
  void send(const at::Tensor& tensor, int receiver, int tag) override { inner_->send(tensor, receiver, tag); }
  void receive(at::Tensor& tensor, int sender, int tag) override { inner_->receive(tensor, sender, tag); }
  void wait() override { inner_->wait(); }
  void abort(const std::string& reason) noexcept override { inner_->abort(reason); }
  void set_timeout(std::chrono::milliseconds timeout) override { inner_->set_timeout(timeout); }

 private:
  static std::int64_t type_of(const at::Tensor& tensor) {
    return static_cast<std::int64_t>(tensor.scalar_type());
  }

  std::vector<std::int64_t> gather(std::vector<std::int64_t> mine) {
    std::vector<std::int64_t> all(mine.size() * size());
    const at::Tensor input = at::from_blob(mine.data(), {static_cast<std::int64_t>(mine.size())}, at::kLong);
    at::Tensor output = at::from_blob(all.data(), {static_cast<std::int64_t>(all.size())}, at::kLong);
    inner_->all_gather(output, input);
    return all;
  }

  void compare(const Signature& mine) {
    ++operation_;
    const std::vector<std::int64_t> all = gather({mine.begin(), mine.end()});
    for (int rank = 1; rank < size(); ++rank) {
      const std::int64_t* const other = all.data() + rank * mine.size();
      D9D_CHECK(std::equal(other, other + mine.size(), all.data()),
                "group {}: the ranks do not call the same operation number {}: position 0 calls {}, position "
                "{} calls {}",
                name(), operation_, text_of(all.data()), rank, text_of(other));
    }
  }

  void compare_splits(const std::vector<std::int64_t>& output_splits,
                      const std::vector<std::int64_t>& input_splits) {
    D9D_CHECK(static_cast<int>(input_splits.size()) == size() && input_splits.size() == output_splits.size(),
              "all_to_all of group {}: {} and {} splits for {} ranks", name(), output_splits.size(),
              input_splits.size(), size());
    std::vector<std::int64_t> mine = input_splits;
    mine.insert(mine.end(), output_splits.begin(), output_splits.end());
    const std::vector<std::int64_t> all = gather(mine);
    for (int from = 0; from < size(); ++from) {
      for (int to = 0; to < size(); ++to) {
        const std::int64_t sent = all[from * 2 * size() + to];
        const std::int64_t awaited = all[to * 2 * size() + size() + from];
        D9D_CHECK(sent == awaited,
                  "group {}: in all_to_all number {} position {} sends {} rows, position {} awaits {}",
                  name(), operation_, from, sent, to, awaited);
      }
    }
  }

  const std::unique_ptr<Communicator> inner_;
  std::int64_t operation_ = -1;
};

}  // namespace

std::unique_ptr<Communicator> make_checked(std::unique_ptr<Communicator> communicator) {
  return std::make_unique<CheckedCommunicator>(std::move(communicator));
}

}  // namespace d9d
