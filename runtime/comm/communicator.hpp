#pragma once
// Collectives of tensors between the ranks of one group: over shared memory between ranks of a process, sockets
// between processes, device to device, NCCL between GPUs. A communicator belongs to one actor and is used by one
// thread; only abort() may come from any thread, and send() and receive() may run on one thread each. All ranks of the
// group must call the same operations in the same order with matching shapes (checked here or by checked.hpp).
//
// CPU: a call returns when the result is in place. Devices: a call is given to a stream that first waits for the
// current one; what it gives may be read, and what it reads be written, behind wait() of its Pending. Errors are
// environment errors (peer gone, timeout, aborted) with the group's name, the operation and, if known, the peer.
// After an error every later call fails in the same way.
#include <ATen/core/Tensor.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/comm/pending.hpp"
#include "runtime/comm/reduce_op.hpp"
#include "runtime/comm/shard_map.hpp"

namespace d9d {

class Communicator {
 public:
  using Splits = std::vector<std::int64_t>;
  explicit Communicator(bool late = false) : late_(late) {}  // results come behind wait()
  virtual ~Communicator() = default;

  virtual int rank() const = 0;  // in the group
  virtual int size() const = 0;
  virtual const std::string& name() const = 0;  // of the group, e.g. "dp_replicate[0,2]"
  // "shared_memory", "sockets", "shared_memory+sockets", "device_local", "nccl" or "single".
  virtual const std::string& backend() const = 0;

  // In place, on contiguous tensors. Shared memory, sockets and device_local add in pairs of neighbouring ranks, half
  // types in fp32 and rounded once: the result has the same bits on all ranks, in all runs, and over all of them.
  Pending all_reduce(at::Tensor& x, ReduceOp op) { return start_all_reduce(x, op), pending(); }
  // input [size * n] -> output [n]: block `rank()` of the sum.
  Pending reduce_scatter(at::Tensor& output, const at::Tensor& input, ReduceOp op) {
    return start_reduce_scatter(output, input, op), pending();
  }
  // input [n] -> output [size * n], blocks in rank order.
  Pending all_gather(at::Tensor& out, const at::Tensor& in) { return start_all_gather(out, in), pending(); }
  // Flat contiguous tensors of one dtype; `map` says which shard has which elements. Gives every rank the whole.
  Pending gather_shards(at::Tensor& whole, const at::Tensor& shard, const ShardMap& map) {
    return start_gather_shards(whole, shard, map), pending();
  }
  // Sums the whole tensors of all ranks and gives each rank its shard of the sum, as reduce_scatter does.
  Pending sum_to_shards(at::Tensor& shard, const at::Tensor& whole, const ShardMap& map) {
    return start_sum_to_shards(shard, whole, map), pending();
  }
  // Rows of dimension 0: `to[r]` rows go to rank r, `from[r]` rows come from it.
  Pending all_to_all(at::Tensor& out, const at::Tensor& in, const Splits& from, const Splits& to) {
    return start_all_to_all(out, in, from, to), pending();
  }
  Pending broadcast(at::Tensor& x, int root) { return start_broadcast(x, root), pending(); }
  virtual void barrier() = 0;

  // Point to point: messages of one (sender, receiver, tag) arrive in the order sent; tags are in [0, 2^30).
  // send() does not wait for the receiver. It keeps the tensor until it is delivered, so do not write to it. NCCL has
  // no tags: there the order of all messages between two ranks must be the same on both sides.
  virtual void send(const at::Tensor& tensor, int receiver, int tag = 0) = 0;
  // `x` must be contiguous, with the sender's shape and dtype.
  Pending receive(at::Tensor& x, int sender, int tag = 0) { return start_receive(x, sender, tag), pending(); }
  // A message to `receiver` and one from `sender`, who does the same: one operation where a send would wait on the
  // device for a peer that sends as well (a ring of two). `in` may be read behind end_exchange(), which all ranks call
  // in the order of their begin_exchange(). On the host: send(out) and then receive(in).
  virtual void begin_exchange(const at::Tensor& out, int receiver, at::Tensor& in, int sender, int tag);
  Pending end_exchange(at::Tensor& x, int sender, int tag) {
    return await_exchange(x, sender, tag), pending();
  }

  virtual void wait() {}  // for all that was called: see Pending
  virtual void check() const {
  }  // throws if it has failed: what a host waited for on a device may not be there
  // From any thread: threads that wait in this group get an environment error, and so do all later calls.
  virtual void abort(const std::string& reason) noexcept = 0;
  virtual void set_timeout(std::chrono::milliseconds timeout) = 0;

 protected:
  friend class ForwardingCommunicator;  // what the functions above do:
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
