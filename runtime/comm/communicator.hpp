#pragma once
// Collectives and messages of tensors between the ranks of one group.
// All ranks must call the same operations in the same order with matching shapes (checked.hpp compares them).
// One thread of one actor uses it. send() and receive() may have a thread each, abort() may come from any.
// On the CPU a call returns when its result is in place. On a device a call is queued on a stream of its own,
// after all work of the caller's current stream: do not read the output or overwrite the input before calling
// wait() on the returned Pending.
// Errors are environment errors (peer gone, timeout, aborted) and name the group, the operation and, if
// known, the peer. After an error every later call fails in the same way.
#include <ATen/core/Tensor.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/comm/reduce_op.hpp"

namespace d9d {

// How a flat tensor is divided into shards, one per rank of a group. A piece maps a range of the
// whole to a range of one rank's shard. Shards may differ in length and may be empty. Elements of
// the whole that are in no piece stay unchanged. Pure integers; the map must be the same on every
// rank of the group.
struct ShardPiece {
  int rank = 0;  // in the group
  std::int64_t in_whole = 0;
  std::int64_t in_shard = 0;
  std::int64_t count = 0;
};

struct ShardMap {
  std::int64_t whole_size = 0;
  std::vector<std::int64_t> shard_sizes;  // by rank
  std::vector<ShardPiece> pieces;         // without empty ones
};

class Communicator;

// The result of a collective. On a device it may not be there before wait(); on the CPU it is,
// and wait() does nothing.
class [[nodiscard]] Pending {
 public:
  // `late`: the communicator to wait for, which must be alive when wait() is called. Null: the
  // result is in place.
  explicit Pending(Communicator* late) : late_(late) {}
  // Orders all work queued on the current stream from now on behind the result. The host does not wait.
  void wait() const {
    if (late_ != nullptr) wait_for(*late_);
  }

 private:
  static void wait_for(Communicator& late);
  Communicator* late_;
};

class Communicator {
 public:
  using Splits = std::vector<std::int64_t>;
  explicit Communicator(bool late = false) : late_(late) {}  // late: results need wait()
  virtual ~Communicator() = default;

  virtual int rank() const = 0;  // in the group
  virtual int size() const = 0;
  virtual const std::string& name() const = 0;  // of the group, e.g. "dp_replicate[0,2]"
  // "shared_memory", "sockets", "shared_memory+sockets", "device_local", "nccl" or "single".
  virtual const std::string& backend() const = 0;

  // Reduces contiguous `x` in place. All backends but NCCL add neighbouring ranks in pairs, half types in
  // fp32 and rounded once. Their sums have the same bits on all ranks, in all runs and with each of them.
  Pending all_reduce(at::Tensor& x, ReduceOp op) { return start_all_reduce(x, op), pending(); }
  // Sums `input` [size * n] over the ranks. `output` [n] is block rank() of the sum.
  Pending reduce_scatter(at::Tensor& output, const at::Tensor& input, ReduceOp op) {
    return start_reduce_scatter(output, input, op), pending();
  }
  // Copies `in` [n] of every rank to all ranks: `out` [size * n], blocks in rank order.
  Pending all_gather(at::Tensor& out, const at::Tensor& in) { return start_all_gather(out, in), pending(); }
  // Joins the shards of all ranks on every rank, as `map` says. Tensors: flat, contiguous, of one dtype.
  Pending gather_shards(at::Tensor& whole, const at::Tensor& shard, const ShardMap& map) {
    return start_gather_shards(whole, shard, map), pending();
  }
  // Sums `whole` over the ranks, as reduce_scatter does, and gives each rank its shard of the sum.
  Pending sum_to_shards(at::Tensor& shard, const at::Tensor& whole, const ShardMap& map) {
    return start_sum_to_shards(shard, whole, map), pending();
  }
  // Exchanges rows of dimension 0: sends `to[r]` rows to rank r and receives `from[r]` rows from it.
  Pending all_to_all(at::Tensor& out, const at::Tensor& in, const Splits& from, const Splits& to) {
    return start_all_to_all(out, in, from, to), pending();
  }
  Pending broadcast(at::Tensor& x, int root) { return start_broadcast(x, root), pending(); }
  virtual void barrier() = 0;  // threads meet; work queued on devices may still run

  // Messages of one (sender, receiver, tag) arrive in the order sent. Tags are in [0, 2^30). NCCL ignores
  // them: there both ranks must call all messages between them in the same order.
  // send() does not wait for the receiver. It keeps the tensor, uncopied: do not write to it before delivery.
  virtual void send(const at::Tensor& tensor, int receiver, int tag = 0) = 0;
  // Receives into `x`, which must be contiguous and have the sender's shape and dtype.
  Pending receive(at::Tensor& x, int sender, int tag = 0) { return start_receive(x, sender, tag), pending(); }
  // Sends `out` and receives `in` as one operation. Use it in a ring: if all sent first, each send would wait
  // on the device for the other's receive. Call end_exchange() in the order of begin_exchange() and read `in`
  // after wait() on its result. On the host the two calls are send(out) and receive(in).
  virtual void begin_exchange(const at::Tensor& out, int receiver, at::Tensor& in, int sender, int tag);
  Pending end_exchange(at::Tensor& x, int sender, int tag) {
    return await_exchange(x, sender, tag), pending();
  }

  virtual void connect() {}  // of devices, by all ranks: later calls need not (nccl/late_channel)
  virtual void wait() {}     // makes the current stream wait for all calls so far; see Pending
  // Throws if the group has failed. Call it when the host has waited for a device.
  virtual void check() const {
  }  // Why: an aborted operation ends on a device like a complete one, but its result is not in place.
  virtual void abort(const std::string& reason) noexcept = 0;  // waiting and later calls fail
  virtual void set_timeout(std::chrono::milliseconds timeout) = 0;

 protected:
  friend class ForwardingCommunicator;  // the functions above call these:
  virtual void start_all_reduce(at::Tensor& tensor, ReduceOp op) = 0;
  virtual void start_reduce_scatter(at::Tensor& output, const at::Tensor& input, ReduceOp op) = 0;
  virtual void start_all_gather(at::Tensor& output, const at::Tensor& input) = 0;
  virtual void start_gather_shards(at::Tensor& whole, const at::Tensor& shard, const ShardMap& map);
  virtual void start_sum_to_shards(at::Tensor& shard, const at::Tensor& whole, const ShardMap& map);
  virtual void start_all_to_all(at::Tensor& output, const at::Tensor& input, const Splits& from,
                                const Splits& to) = 0;
  virtual void start_broadcast(at::Tensor& tensor, int root) = 0;
  virtual void start_receive(at::Tensor& tensor, int sender, int tag) = 0;
  virtual void await_exchange(at::Tensor& in, int sender, int tag);

 private:
  Pending pending() { return Pending(late_ ? this : nullptr); }
  const bool late_;
};

}  // namespace d9d
