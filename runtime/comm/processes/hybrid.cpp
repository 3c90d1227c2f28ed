#include "runtime/comm/processes/hybrid.hpp"

#include <ATen/ops/empty.h>

#include "runtime/base/error.hpp"
#include "runtime/comm/checks.hpp"

namespace d9d {
namespace {

// Up to this size only one rank of each node sends: the time of small values is the number of messages.
constexpr std::size_t small_bytes = std::size_t{1} << 16;

bool is_half(c10::ScalarType dtype) {
  return dtype == at::kHalf || dtype == at::kBFloat16;
}

class HybridCommunicator final : public Communicator {
 public:
  explicit HybridCommunicator(HybridParts parts) : p_(std::move(parts)) {}

  int rank() const override { return p_.group.index; }
  int size() const override { return p_.group.size(); }
  const std::string& name() const override { return p_.group.name; }
  const std::string& backend() const override { return backend_; }

  void start_all_reduce(at::Tensor& tensor, ReduceOp op) override;
  void start_reduce_scatter(at::Tensor& output, const at::Tensor& input, ReduceOp op) override;
  void start_all_gather(at::Tensor& output, const at::Tensor& input) override;
  void start_all_to_all(at::Tensor& output, const at::Tensor& input,
                        const std::vector<std::int64_t>& output_splits,
                        const std::vector<std::int64_t>& input_splits) override {
    together([&] { p_.flat->all_to_all(output, input, output_splits, input_splits).wait(); });
  }
  void start_broadcast(at::Tensor& tensor, int root) override;
  void barrier() override;
  void send(const at::Tensor& tensor, int receiver, int tag) override {
    together([&] { p_.flat->send(tensor, receiver, tag); });
  }
  void start_receive(at::Tensor& tensor, int sender, int tag) override {
    together([&] { p_.flat->receive(tensor, sender, tag).wait(); });
  }
  void abort(const std::string& reason) noexcept override {
    for (Communicator* const part : parts()) part->abort(reason);
  }
  void set_timeout(std::chrono::milliseconds timeout) override {
    for (Communicator* const part : parts()) part->set_timeout(timeout);
  }

 private:
  std::vector<Communicator*> parts() const { return {p_.local.get(), p_.across.get(), p_.flat.get()}; }
  int nodes() const { return p_.across->size(); }
  bool is_leader() const { return p_.local->rank() == 0; }

  // Aborts all parts if `work` fails in one, because other ranks of the group may wait in another part.
  template <class Work>
  void together(Work&& work) {
    try {
      work();
    } catch (...) {
      abort(describe_current_exception().what);
      throw;
    }
  }
  void reduce_small(at::Tensor& tensor, ReduceOp op);
  void reduce_large(at::Tensor& tensor, ReduceOp op);

  const HybridParts p_;
  const std::string backend_ = "shared_memory+sockets";
};

void HybridCommunicator::start_all_reduce(at::Tensor& tensor, ReduceOp op) {
  comm::check_contiguous(tensor, name(), "all_reduce");
  if (op == ReduceOp::sum && is_half(tensor.scalar_type())) {
    // Adds in fp32 throughout. In a half type the partial sum of each node would be rounded,
    // and then the total.
    at::Tensor wide = tensor.to(at::kFloat);
    start_all_reduce(wide, op);
    tensor.copy_(wide);
    return;
  }
  together([&] { tensor.nbytes() <= small_bytes ? reduce_small(tensor, op) : reduce_large(tensor, op); });
}

void HybridCommunicator::reduce_small(at::Tensor& tensor, ReduceOp op) {
  p_.local->all_reduce(tensor, op).wait();
  if (is_leader()) p_.across->all_reduce(tensor, op).wait();
  p_.local->broadcast(tensor, 0).wait();
}

void HybridCommunicator::reduce_large(at::Tensor& tensor, ReduceOp op) {
  const std::int64_t part = tensor.numel() / p_.ranks_per_node;
  at::Tensor flat = tensor.view({-1});
  at::Tensor even = flat.narrow(0, 0, part * p_.ranks_per_node);
  at::Tensor mine = at::empty({part}, tensor.options());
  p_.local->reduce_scatter(mine, even, op).wait();
  p_.across->all_reduce(mine, op).wait();
  p_.local->all_gather(even, mine).wait();
  at::Tensor rest = flat.narrow(0, even.numel(), flat.numel() - even.numel());
  if (rest.numel() > 0) reduce_small(rest, op);
}

void HybridCommunicator::start_reduce_scatter(at::Tensor& output, const at::Tensor& input, ReduceOp op) {
  comm::check_scatter(output, input, size(), name());
  if (op == ReduceOp::sum && is_half(output.scalar_type())) {
    at::Tensor wide = at::empty(output.sizes(), output.options().dtype(at::kFloat));
    start_reduce_scatter(wide, input.to(at::kFloat), op);
    output.copy_(wide);
    return;
  }
  together([&] {
    const std::int64_t per_node = output.numel() * p_.ranks_per_node;
    at::Tensor of_node = at::empty({nodes(), output.numel()}, output.options());
    for (int node = 0; node < nodes(); ++node) {
      at::Tensor sum = of_node.select(0, node);
      p_.local->reduce_scatter(sum, input.view({-1}).narrow(0, node * per_node, per_node), op).wait();
    }
    p_.across->reduce_scatter(output, of_node, op).wait();
  });
}

void HybridCommunicator::start_all_gather(at::Tensor& output, const at::Tensor& input) {
  comm::check_gather(output, input, size(), name());
  together([&] {
    const std::int64_t per_node = input.numel() * p_.ranks_per_node;
    at::Tensor of_position = at::empty({nodes(), input.numel()}, input.options());
    p_.across->all_gather(of_position, input).wait();
    for (int node = 0; node < nodes(); ++node) {
      at::Tensor blocks = output.view({-1}).narrow(0, node * per_node, per_node);
      p_.local->all_gather(blocks, of_position.select(0, node)).wait();
    }
  });
}

void HybridCommunicator::start_broadcast(at::Tensor& tensor, int root) {
  D9D_CHECK(root >= 0 && root < size(), "broadcast of group {}: root {} of {} ranks", name(), root, size());
  together([&] {
    const int position = root % p_.ranks_per_node;
    if (p_.local->rank() == position) p_.across->broadcast(tensor, root / p_.ranks_per_node).wait();
    p_.local->broadcast(tensor, position).wait();
  });
}

void HybridCommunicator::barrier() {
  together([&] {
    p_.local->barrier();
    if (is_leader()) p_.across->barrier();
    p_.local->barrier();
  });
}

}  // namespace

std::unique_ptr<Communicator> make_hybrid(HybridParts parts) {
  D9D_CHECK(parts.local->size() * parts.across->size() == parts.group.size(),
            "group {} of {} ranks is not {} x {}", parts.group.name, parts.group.size(), parts.across->size(),
            parts.local->size());
  return std::make_unique<HybridCommunicator>(std::move(parts));
}

}  // namespace d9d
