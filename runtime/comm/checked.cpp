#include "runtime/comm/checked.hpp"

#include <ATen/ops/from_blob.h>
#include <fmt/ranges.h>

#include "runtime/base/error.hpp"
#include "runtime/base/log_place.hpp"
#include "runtime/base/rng.hpp"
#include "runtime/comm/gather.hpp"

namespace d9d {
namespace {

std::string_view name_of(ReduceOp op) {
  switch (op) {
    case ReduceOp::sum:
      return "sum";
    case ReduceOp::max:
      return "max";
    case ReduceOp::min:
      return "min";
  }
  return "?";
}

std::string text_of(const char* operation, const at::Tensor& tensor, at::IntArrayRef shape,
                    const std::string& more) {
  std::int64_t elements = 1;
  for (const std::int64_t size : shape) elements *= size;
  return fmt::format("{}({}, {} elements as [{}]{})", operation, c10::toString(tensor.scalar_type()),
                     elements, fmt::join(shape, ", "), more);
}

class CheckedCommunicator final : public Communicator {
 public:
  CheckedCommunicator(std::unique_ptr<Communicator> inner, int rank)
      : inner_(std::move(inner)), rank_(rank) {}

  int rank() const override { return inner_->rank(); }
  int size() const override { return inner_->size(); }
  const std::string& name() const override { return inner_->name(); }
  const std::string& backend() const override { return inner_->backend(); }

  void all_reduce(at::Tensor& tensor, ReduceOp op) override {
    compare("all_reduce", tensor, tensor.sizes(), fmt::format(", {}", name_of(op)));
    inner_->all_reduce(tensor, op);
  }
  void reduce_scatter(at::Tensor& output, const at::Tensor& input, ReduceOp op) override {
    compare("reduce_scatter", input, input.sizes(), fmt::format(", {}", name_of(op)));
    inner_->reduce_scatter(output, input, op);
  }
  void all_gather(at::Tensor& output, const at::Tensor& input) override {
    compare("all_gather", input, input.sizes(), "");
    inner_->all_gather(output, input);
  }
  void gather_shards(at::Tensor& whole, const at::Tensor& shard, const ShardMap& map) override {
    compare("gather_shards", whole, whole.sizes(), "");
    inner_->gather_shards(whole, shard, map);
  }
  void sum_to_shards(at::Tensor& shard, const at::Tensor& whole, const ShardMap& map) override {
    compare("sum_to_shards", whole, whole.sizes(), "");
    inner_->sum_to_shards(shard, whole, map);
  }
  void all_to_all(at::Tensor& output, const at::Tensor& input, const std::vector<std::int64_t>& output_splits,
                  const std::vector<std::int64_t>& input_splits) override {
    compare("all_to_all", input, input.sizes().slice(1), " a row");
    compare_splits(output_splits, input_splits);
    inner_->all_to_all(output, input, output_splits, input_splits);
  }
  void broadcast(at::Tensor& tensor, int root) override {
    compare("broadcast", tensor, tensor.sizes(), fmt::format(", root {}", root));
    inner_->broadcast(tensor, root);
  }
  void barrier() override {
    compare("barrier");
    inner_->barrier();
  }
  void send(const at::Tensor& tensor, int receiver, int tag) override { inner_->send(tensor, receiver, tag); }
  void receive(at::Tensor& tensor, int sender, int tag) override { inner_->receive(tensor, sender, tag); }
  void wait() override { inner_->wait(); }
  void abort(const std::string& reason) noexcept override { inner_->abort(reason); }
  void set_timeout(std::chrono::milliseconds timeout) override { inner_->set_timeout(timeout); }

 private:
  std::string caller() const {
    const std::string place = log::place();
    return place.empty() ? fmt::format("rank {}", rank_) : fmt::format("rank {} ({})", rank_, place);
  }

  std::vector<std::int64_t> gather(std::vector<std::int64_t> mine) {
    std::vector<std::int64_t> all(mine.size() * static_cast<std::size_t>(size()));
    const at::Tensor input = at::from_blob(mine.data(), {static_cast<std::int64_t>(mine.size())}, at::kLong);
    at::Tensor output = at::from_blob(all.data(), {static_cast<std::int64_t>(all.size())}, at::kLong);
    try {
      inner_->all_gather(output, input);
    } catch (const Error& error) {
      throw Error(error.kind(), fmt::format("{}; {} was about to call {}", error.what(), caller(), current_),
                  error.where());
    }
    return all;
  }

  void compare(const char* operation, const at::Tensor& tensor, at::IntArrayRef shape,
               const std::string& more) {
    compare(text_of(operation, tensor, shape, more));
  }

  // Equal texts are equal calls, so hashes are all that travels until they differ.
  void compare(std::string text) {
    current_ = fmt::format("{}, number {}", text, ++operation_);
    const auto mine = static_cast<std::int64_t>(stable_hash(name() + current_));
    const std::vector<std::int64_t> all = gather({mine});
    for (std::size_t rank = 1; rank < all.size(); ++rank) {
      if (all[rank] != all[0]) fail_call(rank);
    }
  }

  // All ranks have seen the same mismatch, so all come here.
  [[noreturn]] void fail_call(std::size_t rank) {
    const std::vector<std::string> callers = all_gather_bytes(*inner_, caller() + " calls " + current_);
    throw Error(ErrorKind::bug, fmt::format("group {}: the ranks do not call the same: {}; {}", name(),
                                            callers[0], callers[rank]));
  }

  void compare_splits(const std::vector<std::int64_t>& output_splits,
                      const std::vector<std::int64_t>& input_splits) {
    D9D_CHECK(static_cast<int>(input_splits.size()) == size() && input_splits.size() == output_splits.size(),
              "all_to_all of group {}: {} and {} splits for {} ranks", name(), output_splits.size(),
              input_splits.size(), size());
    std::vector<std::int64_t> mine = input_splits;
    mine.insert(mine.end(), output_splits.begin(), output_splits.end());
    const std::vector<std::int64_t> all = gather(mine);
    const auto ranks = static_cast<std::size_t>(size());
    for (std::size_t from = 0; from < ranks; ++from) {
      for (std::size_t to = 0; to < ranks; ++to) {
        const std::int64_t sent = all[from * 2 * ranks + to];
        const std::int64_t awaited = all[to * 2 * ranks + ranks + from];
        if (sent != awaited) fail_splits(from, to, sent, awaited);
      }
    }
  }

  [[noreturn]] void fail_splits(std::size_t from, std::size_t to, std::int64_t sent, std::int64_t awaited) {
    const std::vector<std::string> callers = all_gather_bytes(*inner_, caller());
    throw Error(ErrorKind::bug,
                fmt::format("group {}: in all_to_all number {} {} sends {} rows, {} awaits {}", name(),
                            operation_, callers[from], sent, callers[to], awaited));
  }

  const std::unique_ptr<Communicator> inner_;
  const int rank_;
  std::int64_t operation_ = -1;
  std::string current_;  // what is about to be called
};

}  // namespace

std::unique_ptr<Communicator> make_checked(std::unique_ptr<Communicator> communicator, int rank) {
  return std::make_unique<CheckedCommunicator>(std::move(communicator), rank);
}

}  // namespace d9d
