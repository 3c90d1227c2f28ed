#include "runtime/comm/decorators/forwarding.hpp"

#include <array>

#include "runtime/base/error.hpp"

namespace d9d {

const char* name_of(ForwardedCall::Operation operation) {
  static constexpr std::array<const char*, ForwardedCall::num_operations> names{
      "all_reduce", "reduce_scatter", "all_gather", "gather_shards", "sum_to_shards", "all_to_all",
      "broadcast",  "barrier",        "send",       "receive",       "wait"};
  return names.at(static_cast<std::size_t>(operation));
}

void ForwardingCommunicator::fail_closed() {
  throw Error(ErrorKind::bug, "a communicator is used while the job sleeps and its connections are closed");
}

void ForwardingCommunicator::start_all_reduce(at::Tensor& tensor, ReduceOp op) {
  around({.operation = ForwardedCall::Operation::all_reduce, .input = &tensor, .output = &tensor, .op = op},
         [&](Communicator& to) { to.start_all_reduce(tensor, op); });
}

void ForwardingCommunicator::start_reduce_scatter(at::Tensor& output, const at::Tensor& input, ReduceOp op) {
  around(
      {.operation = ForwardedCall::Operation::reduce_scatter, .input = &input, .output = &output, .op = op},
      [&](Communicator& to) { to.start_reduce_scatter(output, input, op); });
}

void ForwardingCommunicator::start_all_gather(at::Tensor& output, const at::Tensor& input) {
  around({.operation = ForwardedCall::Operation::all_gather, .input = &input, .output = &output},
         [&](Communicator& to) { to.start_all_gather(output, input); });
}

void ForwardingCommunicator::start_gather_shards(at::Tensor& whole, const at::Tensor& shard,
                                                 const ShardMap& map) {
  around({.operation = ForwardedCall::Operation::gather_shards, .input = &shard, .output = &whole},
         [&](Communicator& to) { to.start_gather_shards(whole, shard, map); });
}

void ForwardingCommunicator::start_sum_to_shards(at::Tensor& shard, const at::Tensor& whole,
                                                 const ShardMap& map) {
  around({.operation = ForwardedCall::Operation::sum_to_shards, .input = &whole, .output = &shard},
         [&](Communicator& to) { to.start_sum_to_shards(shard, whole, map); });
}

void ForwardingCommunicator::start_all_to_all(at::Tensor& output, const at::Tensor& input,
                                              const std::vector<std::int64_t>& output_splits,
                                              const std::vector<std::int64_t>& input_splits) {
  around({.operation = ForwardedCall::Operation::all_to_all,
          .input = &input,
          .output = &output,
          .output_splits = &output_splits,
          .input_splits = &input_splits},
         [&](Communicator& to) { to.start_all_to_all(output, input, output_splits, input_splits); });
}

void ForwardingCommunicator::start_broadcast(at::Tensor& tensor, int root) {
  around(
      {.operation = ForwardedCall::Operation::broadcast, .input = &tensor, .output = &tensor, .root = root},
      [&](Communicator& to) { to.start_broadcast(tensor, root); });
}

void ForwardingCommunicator::barrier() {
  around({.operation = ForwardedCall::Operation::barrier}, [](Communicator& to) { to.barrier(); });
}

void ForwardingCommunicator::send(const at::Tensor& tensor, int receiver, int tag) {
  around({.operation = ForwardedCall::Operation::send, .input = &tensor},
         [&](Communicator& to) { to.send(tensor, receiver, tag); });
}

void ForwardingCommunicator::start_receive(at::Tensor& tensor, int sender, int tag) {
  around({.operation = ForwardedCall::Operation::receive, .output = &tensor},
         [&](Communicator& to) { to.start_receive(tensor, sender, tag); });
}

void ForwardingCommunicator::begin_exchange(const at::Tensor& out, int receiver, at::Tensor& in, int sender,
                                            int tag) {
  around({.operation = ForwardedCall::Operation::send, .input = &out},
         [&](Communicator& to) { to.begin_exchange(out, receiver, in, sender, tag); });
}

void ForwardingCommunicator::await_exchange(at::Tensor& in, int sender, int tag) {
  around({.operation = ForwardedCall::Operation::receive, .output = &in},
         [&](Communicator& to) { to.await_exchange(in, sender, tag); });
}

void ForwardingCommunicator::wait() {
  around({.operation = ForwardedCall::Operation::wait}, [](Communicator& to) { to.wait(); });
}

}  // namespace d9d
