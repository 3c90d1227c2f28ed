#include "runtime/comm/shared_memory/single.hpp"

#include "runtime/base/error.hpp"
#include "runtime/comm/checks.hpp"

namespace d9d {

SingleCommunicator::SingleCommunicator(std::string name) : name_(std::move(name)) {}

void SingleCommunicator::start_all_reduce(at::Tensor& tensor, ReduceOp) {
  require_alive("all_reduce");
  comm::check_contiguous(tensor, name_, "all_reduce");
}

void SingleCommunicator::start_reduce_scatter(at::Tensor& output, const at::Tensor& input, ReduceOp) {
  require_alive("reduce_scatter");
  comm::check_scatter(output, input, 1, name_);
  output.view({-1}).copy_(input.view({-1}));
}

void SingleCommunicator::start_all_gather(at::Tensor& output, const at::Tensor& input) {
  require_alive("all_gather");
  comm::check_gather(output, input, 1, name_);
  output.view({-1}).copy_(input.view({-1}));
}

void SingleCommunicator::start_all_to_all(at::Tensor& output, const at::Tensor& input,
                                          const std::vector<std::int64_t>& output_splits,
                                          const std::vector<std::int64_t>& input_splits) {
  require_alive("all_to_all");
  comm::check_splits(output, input, output_splits, input_splits, 1, name_);
  D9D_CHECK(output_splits == input_splits, "all_to_all of group {}: {} rows sent, {} awaited", name_,
            input_splits[0], output_splits[0]);
  output.copy_(input);
}

void SingleCommunicator::start_broadcast(at::Tensor& tensor, int root) {
  require_alive("broadcast");
  comm::check_contiguous(tensor, name_, "broadcast");
  D9D_CHECK(root == 0, "broadcast of group {}: root {} of 1 rank", name_, root);
}

void SingleCommunicator::barrier() {
  require_alive("barrier");
}

void SingleCommunicator::send(const at::Tensor&, int receiver, int tag) {
  comm::check_peer(receiver, 0, 1, tag, name_, "send");
}

void SingleCommunicator::start_receive(at::Tensor&, int sender, int tag) {
  comm::check_peer(sender, 0, 1, tag, name_, "receive");
}

void SingleCommunicator::abort(const std::string& reason) noexcept {
  aborted_.set("aborted: " + reason);
}

}  // namespace d9d
