#pragma once
// Base class of communicators that wrap another one. Every call goes through
// one virtual function, around().

#include <c10/util/FunctionRef.h>

#include <utility>

#include "runtime/comm/communicator.hpp"

namespace d9d {

// One call of a Communicator. Its pointers are valid during around().
struct ForwardedCall {
  enum class Operation {
    all_reduce,
    reduce_scatter,
    all_gather,
    gather_shards,
    sum_to_shards,
    all_to_all,
    broadcast,
    barrier,
    send,
    receive,
    wait
  };
  static constexpr std::size_t num_operations = 11;

  Operation operation;
  const at::Tensor* input = nullptr;   // null if this rank sends nothing
  const at::Tensor* output = nullptr;  // null if this rank receives nothing; may be the input
  ReduceOp op = ReduceOp::sum;
  int root = 0;                                              // of broadcast
  const std::vector<std::int64_t>* output_splits = nullptr;  // of all_to_all
  const std::vector<std::int64_t>* input_splits = nullptr;
};
const char* name_of(ForwardedCall::Operation operation);

class ForwardingCommunicator : public Communicator {
 public:
  int rank() const final { return inner().rank(); }
  int size() const final { return inner().size(); }
  const std::string& name() const final { return inner().name(); }
  const std::string& backend() const final { return inner().backend(); }

  void start_all_reduce(at::Tensor& tensor, ReduceOp op) final;
  void start_reduce_scatter(at::Tensor& output, const at::Tensor& input, ReduceOp op) final;
  void start_all_gather(at::Tensor& output, const at::Tensor& input) final;
  void start_gather_shards(at::Tensor& whole, const at::Tensor& shard, const ShardMap& map) final;
  void start_sum_to_shards(at::Tensor& shard, const at::Tensor& whole, const ShardMap& map) final;
  void start_all_to_all(at::Tensor& output, const at::Tensor& input,
                        const std::vector<std::int64_t>& output_splits,
                        const std::vector<std::int64_t>& input_splits) final;
  void start_broadcast(at::Tensor& tensor, int root) final;
  void barrier() final;
  void send(const at::Tensor& tensor, int receiver, int tag) final;
  void start_receive(at::Tensor& tensor, int sender, int tag) final;
  // Reaches around() as a send.
  void begin_exchange(const at::Tensor& out, int receiver, at::Tensor& in, int sender, int tag) final;
  // Reaches around() as a receive.
  void await_exchange(at::Tensor& in, int sender, int tag) final;
  void wait() final;
  void connect() override { inner().connect(); }
  void check() const final {
    if (inner_) inner_->check();
  }
  void abort(const std::string& reason) noexcept override { inner_->abort(reason); }
  void set_timeout(std::chrono::milliseconds timeout) override { inner().set_timeout(timeout); }

 protected:
  using Run = c10::function_ref<void(Communicator&)>;

  explicit ForwardingCommunicator(std::shared_ptr<Communicator> inner)
      : Communicator(inner->late_), inner_(std::move(inner)) {}
  Communicator& inner() const {
    if (!inner_) fail_closed();
    return *inner_;
  }
  bool is_open() const { return inner_ != nullptr; }
  // Replaces the wrapped communicator and returns the old one. The new one must be over the same
  // ranks and have the same kind of results (`late`). After null every call is a bug error until
  // there is a new one.
  std::shared_ptr<Communicator> replace_inner(std::shared_ptr<Communicator> inner) {
    return std::exchange(inner_, std::move(inner));
  }

  // Must call run() exactly once, with inner() or another communicator over the same ranks.
  virtual void around(const ForwardedCall& call, Run run) = 0;

 private:
  [[noreturn]] static void fail_closed();

  std::shared_ptr<Communicator> inner_;
};

}  // namespace d9d
