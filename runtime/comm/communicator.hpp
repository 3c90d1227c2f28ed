#pragma once
// Collectives of tensors between the ranks of one group: over shared memory between ranks of
// a process, sockets between processes, NCCL between GPUs. A communicator belongs to one actor
// and is used by one thread; only abort() may come from any thread, and send() and receive()
// may run on one thread each. All ranks of the group must call the same operations in the same
// order with matching shapes. Shared memory always checks that; checked.hpp does for the others.
//
// CPU: a call returns when the result is in place. CUDA: a call is enqueued on the communicator's stream, which first
// waits for the caller's current stream; wait() makes the current stream wait for it. Tensors live until then. Errors are
// environment errors (peer gone, timeout, aborted) with the group's name, the operation and, if known, the
// peer. After an error the communicator cannot be used: every later call fails in the same way.

#include <ATen/core/Tensor.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/comm/reduce_op.hpp"
#include "runtime/comm/shard_map.hpp"

namespace d9d {

class Communicator {
 public:
  virtual ~Communicator() = default;

  virtual int rank() const = 0;  // in the group
  virtual int size() const = 0;
  virtual const std::string& name() const = 0;  // of the group, e.g. "dp_replicate[0,2]"
  virtual const std::string& backend()
      const = 0;  // "shared_memory", "sockets", "shared_memory+sockets", "nccl", "single"

  // In place, on contiguous tensors. Shared memory and sockets add in pairs of neighbouring ranks, half types
  // in fp32 and rounded once: the result has the same bits on all ranks, in all runs, and over both.
  virtual void all_reduce(at::Tensor& tensor, ReduceOp op) = 0;
  // input [size * n] -> output [n]: block `rank()` of the sum.
  virtual void reduce_scatter(at::Tensor& output, const at::Tensor& input, ReduceOp op) = 0;
  // input [n] -> output [size * n], blocks in rank order.
  virtual void all_gather(at::Tensor& output, const at::Tensor& input) = 0;
  // Flat contiguous tensors of one dtype; `map` says which
  // shard has which elements. Gives every rank the whole.
  virtual void gather_shards(at::Tensor& whole, const at::Tensor& shard, const ShardMap& map);
  // Sums the whole tensors of all ranks and gives each rank its shard of the sum, as reduce_scatter does.
  virtual void sum_to_shards(at::Tensor& shard, const at::Tensor& whole, const ShardMap& map);
  // Rows of dimension 0: `input_splits[r]` rows go to rank r, `output_splits[r]` rows come from it.
  virtual void all_to_all(at::Tensor& output, const at::Tensor& input,
                          const std::vector<std::int64_t>& output_splits,
                          const std::vector<std::int64_t>& input_splits) = 0;
  virtual void broadcast(at::Tensor& tensor, int root) = 0;
  virtual void barrier() = 0;

  // Point to point: messages of one (sender, receiver, tag) arrive in the order sent; tags are in [0, 2^30).
  // send() does not wait for the receiver. It keeps the tensor until it is delivered, so do not write to it.
  // NCCL has no tags: there the order of all messages between two ranks must be the same on both sides.
  virtual void send(const at::Tensor& tensor, int receiver, int tag = 0) = 0;
  // `tensor` must be contiguous, with the sender's shape and dtype.
  virtual void receive(at::Tensor& tensor, int sender, int tag = 0) = 0;
  // A message to `receiver` and one from `sender`, who does the same: one operation where a send would wait on the
  // device for a peer that sends as well (a ring of two). `in` may be read after end_exchange(), which all ranks call in
  // the order of their begin_exchange(). On the host: send(out) and then receive(in).
  virtual void begin_exchange(const at::Tensor& out, int receiver, at::Tensor& in, int sender, int tag);
  virtual void end_exchange(at::Tensor& in, int sender, int tag);

  virtual void wait() {}
  // From any thread: threads that wait in this group get an environment error, and so do all later calls.
  virtual void abort(const std::string& reason) noexcept = 0;
  virtual void set_timeout(std::chrono::milliseconds timeout) = 0;
};

}  // namespace d9d
