#include "runtime/comm/decorators/checked.hpp"

#include <ATen/ops/from_blob.h>
#include <fmt/ranges.h>

#include "runtime/base/error.hpp"
#include "runtime/base/log_place.hpp"
#include "runtime/base/rng.hpp"
#include "runtime/comm/decorators/forwarding.hpp"
#include "runtime/comm/gather.hpp"

namespace d9d {
namespace {

using Operation = ForwardedCall::Operation;

bool is_collective(Operation operation) {
  return operation != Operation::send && operation != Operation::receive && operation != Operation::wait;
}

std::string text_of(const ForwardedCall& call, const at::Tensor& tensor, at::IntArrayRef shape,
                    const std::string& more) {
  std::int64_t elements = 1;
  for (const std::int64_t size : shape) elements *= size;
  return fmt::format("{}({}, {} elements as [{}]{})", name_of(call.operation),
                     c10::toString(tensor.scalar_type()), elements, fmt::join(shape, ", "), more);
}

// Returns a text that must be equal on all ranks. Shards may differ in length, so it has the shape of the
// whole. For all_to_all it has only the length of a row.
std::string text_of(const ForwardedCall& call) {
  switch (call.operation) {
    case Operation::all_reduce:
    case Operation::reduce_scatter:
      return text_of(call, *call.input, call.input->sizes(), fmt::format(", {}", name_of(call.op)));
    case Operation::all_gather:
    case Operation::sum_to_shards:
      return text_of(call, *call.input, call.input->sizes(), "");
    case Operation::gather_shards:
      return text_of(call, *call.output, call.output->sizes(), "");
    case Operation::all_to_all:
      return text_of(call, *call.input, call.input->sizes().slice(1), " a row");
    case Operation::broadcast:
      return text_of(call, *call.input, call.input->sizes(), fmt::format(", root {}", call.root));
    default:
      return name_of(call.operation);
  }
}

class CheckedCommunicator final : public ForwardingCommunicator {
 public:
  CheckedCommunicator(std::unique_ptr<Communicator> inner, int rank)
      : ForwardingCommunicator(std::move(inner)), rank_(rank) {}

 private:
  void around(const ForwardedCall& call, Run run) override {
    if (is_collective(call.operation)) compare(text_of(call));
    if (call.operation == Operation::all_to_all) compare_splits(*call.output_splits, *call.input_splits);
    run(inner());
  }

  std::string caller() const {
    const std::string place = log::place();
    return place.empty() ? fmt::format("rank {}", rank_) : fmt::format("rank {} ({})", rank_, place);
  }

  std::vector<std::int64_t> gather(std::vector<std::int64_t> mine) {
    std::vector<std::int64_t> all(mine.size() * static_cast<std::size_t>(size()));
    const at::Tensor input = at::from_blob(mine.data(), {static_cast<std::int64_t>(mine.size())}, at::kLong);
    at::Tensor output = at::from_blob(all.data(), {static_cast<std::int64_t>(all.size())}, at::kLong);
    try {
      inner().all_gather(output, input).wait();
    } catch (const Error& error) {
      throw Error(error.kind(), fmt::format("{}; {} was about to call {}", error.what(), caller(), current_),
                  error.where());
    }
    return all;
  }

  // Equal texts mean equal calls. The ranks exchange hashes of the texts, and the texts only
  // if the hashes differ.
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
    const std::vector<std::string> callers = all_gather_bytes(inner(), caller() + " calls " + current_);
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
    const std::vector<std::string> callers = all_gather_bytes(inner(), caller());
    throw Error(ErrorKind::bug,
                fmt::format("group {}: in all_to_all number {} {} sends {} rows, {} awaits {}", name(),
                            operation_, callers[from], sent, callers[to], awaited));
  }

  const int rank_;
  std::int64_t operation_ = -1;
  std::string current_;  // the call that is being compared
};

}  // namespace

std::unique_ptr<Communicator> make_checked(std::unique_ptr<Communicator> communicator, int rank) {
  return std::make_unique<CheckedCommunicator>(std::move(communicator), rank);
}

}  // namespace d9d
