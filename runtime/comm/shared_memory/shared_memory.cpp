#include "runtime/comm/shared_memory/shared_memory.hpp"

#include <cstring>

#include "runtime/base/error.hpp"
#include "runtime/comm/checks.hpp"
#include "runtime/comm/communicator.hpp"
#include "runtime/comm/reduce.hpp"
#include "runtime/comm/shared_memory/mailboxes.hpp"
#include "runtime/comm/shared_memory/meeting.hpp"

namespace d9d {
namespace comm {

struct SharedGroup {
  SharedGroup(const std::string& name, const std::vector<int>& ranks) : meeting(name, ranks) {}
  void fail(const std::string& reason) noexcept {
    meeting.fail(reason);
    mailboxes.close();
  }
  Meeting meeting;
  Mailboxes mailboxes;
};

namespace {

// Does not call memcpy for no bytes, because the pointers may be null then, which memcpy forbids.
void copy_bytes(void* into, const void* from, std::size_t bytes) {
  if (bytes > 0 && into != from) std::memcpy(into, from, bytes);
}

class SharedMemoryCommunicator final : public Communicator {
 public:
  SharedMemoryCommunicator(std::shared_ptr<SharedGroup> group, int rank, std::chrono::milliseconds timeout)
      : group_(std::move(group)), meeting_(group_->meeting), rank_(rank), timeout_(timeout) {}
  ~SharedMemoryCommunicator() override {
    meeting_.leave(rank_);
    group_->mailboxes.leave(rank_);
  }

  int rank() const override { return rank_; }
  int size() const override { return meeting_.size(); }
  const std::string& name() const override { return meeting_.group(); }
  const std::string& backend() const override { return backend_; }

  void start_all_reduce(at::Tensor& tensor, ReduceOp op) override;
  void start_reduce_scatter(at::Tensor& output, const at::Tensor& input, ReduceOp op) override;
  void start_all_gather(at::Tensor& output, const at::Tensor& input) override;
  void start_gather_shards(at::Tensor& whole, const at::Tensor& shard, const ShardMap& map) override;
  void start_sum_to_shards(at::Tensor& shard, const at::Tensor& whole, const ShardMap& map) override;
  void start_all_to_all(at::Tensor& output, const at::Tensor& input,
                        const std::vector<std::int64_t>& output_splits,
                        const std::vector<std::int64_t>& input_splits) override;
  void start_broadcast(at::Tensor& tensor, int root) override;
  void barrier() override;
  void send(const at::Tensor& tensor, int receiver, int tag) override;
  void start_receive(at::Tensor& tensor, int sender, int tag) override;
  void abort(const std::string& reason) noexcept override { group_->fail("aborted: " + reason); }
  void set_timeout(std::chrono::milliseconds timeout) override { timeout_ = timeout; }

 private:
  Call& my_call(Call::Kind kind) {
    Call& call = meeting_.call(rank_, operation_);
    call.kind = kind;
    call.op = ReduceOp::sum;
    call.dtype = c10::ScalarType::Byte;
    call.root = 0;
    call.numel = call.row_bytes = 0;
    return call;
  }
  const Call& call_of(int rank) { return meeting_.call(rank, operation_); }
  // Waits until all ranks have come with matching calls. Their buffers may be read from then on.
  void begin(Call::Kind kind) {
    meeting_.arrive(rank_, name_of(kind), timeout_);
    meeting_.check_same_call(operation_);
  }
  // Waits until all ranks have read. Buffers belong to their owners again.
  void end() {
    meeting_.finish(rank_);
    ++operation_;
  }
  void all_reduce_inline(at::Tensor& tensor, Call& call);
  std::vector<const void*> inputs(std::int64_t byte_offset);
  std::vector<void*> outputs(std::int64_t byte_offset);
  [[noreturn]] void fail_receive(int sender, int tag);

  const std::shared_ptr<SharedGroup> group_;
  Meeting& meeting_;
  const int rank_;
  const std::string backend_ = "shared_memory";
  std::chrono::milliseconds timeout_;
  std::uint64_t operation_ = 0;
};

std::vector<const void*> SharedMemoryCommunicator::inputs(std::int64_t byte_offset) {
  std::vector<const void*> result;
  for (int rank = 0; rank < size(); ++rank) {
    result.push_back(static_cast<const std::byte*>(call_of(rank).input) + byte_offset);
  }
  return result;
}

std::vector<void*> SharedMemoryCommunicator::outputs(std::int64_t byte_offset) {
  std::vector<void*> result;
  for (int rank = 0; rank < size(); ++rank) {
    result.push_back(static_cast<std::byte*>(call_of(rank).output) + byte_offset);
  }
  return result;
}

void SharedMemoryCommunicator::start_all_reduce(at::Tensor& tensor, ReduceOp op) {
  check_contiguous(tensor, name(), "all_reduce");
  Call& call = my_call(Call::Kind::all_reduce);
  call.op = op;
  call.dtype = tensor.scalar_type();
  call.numel = tensor.numel();
  call.input = call.output = tensor.data_ptr();
  if (tensor.nbytes() <= Call::inline_bytes) return all_reduce_inline(tensor, call);
  begin(call.kind);
  // Only this rank touches this part of the buffers, so the sum may overwrite its sources.
  const Range part = part_of(call.numel, size(), rank_);
  const std::int64_t offset = part.begin * static_cast<std::int64_t>(tensor.element_size());
  reduce(call.dtype, op, inputs(offset), outputs(offset), part.size());
  end();
}

// Waits once instead of twice: the values are in the calls, which stay readable until
// the operation after next.
void SharedMemoryCommunicator::all_reduce_inline(at::Tensor& tensor, Call& call) {
  copy_bytes(call.values.data(), call.input, tensor.nbytes());
  begin(call.kind);
  std::vector<const void*> values;
  for (int rank = 0; rank < size(); ++rank) values.push_back(call_of(rank).values.data());
  void* const target = call.output;
  reduce(call.dtype, call.op, values, {&target, 1}, call.numel);
  ++operation_;
}

void SharedMemoryCommunicator::start_reduce_scatter(at::Tensor& output, const at::Tensor& input,
                                                    ReduceOp op) {
  check_scatter(output, input, size(), name());
  Call& call = my_call(Call::Kind::reduce_scatter);
  call.op = op;
  call.dtype = input.scalar_type();
  call.numel = output.numel();
  call.input = input.const_data_ptr();
  begin(call.kind);
  void* const target = output.data_ptr();
  reduce(call.dtype, op, inputs(rank_ * static_cast<std::int64_t>(output.nbytes())), {&target, 1},
         output.numel());
  end();
}

void SharedMemoryCommunicator::start_all_gather(at::Tensor& output, const at::Tensor& input) {
  check_gather(output, input, size(), name());
  Call& call = my_call(Call::Kind::all_gather);
  call.dtype = input.scalar_type();
  call.numel = input.numel();
  call.input = input.const_data_ptr();
  begin(call.kind);
  std::byte* target = static_cast<std::byte*>(output.data_ptr());
  for (int rank = 0; rank < size(); ++rank, target += input.nbytes()) {
    copy_bytes(target, call_of(rank).input, input.nbytes());  // this rank's block may be in place already
  }
  end();
}

void SharedMemoryCommunicator::start_gather_shards(at::Tensor& whole, const at::Tensor& shard,
                                                   const ShardMap& map) {
  check_shards(whole, shard, map, rank_, size(), name());
  Call& call = my_call(Call::Kind::gather_shards);
  call.dtype = whole.scalar_type();
  call.numel = whole.numel();
  call.input = shard.numel() > 0 ? shard.const_data_ptr() : nullptr;
  begin(call.kind);
  const auto bytes = static_cast<std::int64_t>(whole.element_size());
  auto* const target = static_cast<std::byte*>(whole.data_ptr());
  for (const ShardPiece& piece : map.pieces) {
    const auto* const source = static_cast<const std::byte*>(call_of(piece.rank).input);
    copy_bytes(target + piece.in_whole * bytes, source + piece.in_shard * bytes,
               static_cast<std::size_t>(piece.count * bytes));
  }
  end();
}

void SharedMemoryCommunicator::start_sum_to_shards(at::Tensor& shard, const at::Tensor& whole,
                                                   const ShardMap& map) {
  check_shards(whole, shard, map, rank_, size(), name());
  Call& call = my_call(Call::Kind::sum_to_shards);
  call.dtype = whole.scalar_type();
  call.numel = whole.numel();
  call.input = whole.const_data_ptr();
  begin(call.kind);
  const auto bytes = static_cast<std::int64_t>(whole.element_size());
  for (const ShardPiece& piece : map.pieces) {
    if (piece.rank != rank_) continue;
    void* const target = static_cast<std::byte*>(shard.data_ptr()) + piece.in_shard * bytes;
    reduce(call.dtype, ReduceOp::sum, inputs(piece.in_whole * bytes), {&target, 1}, piece.count);
  }
  end();
}

void SharedMemoryCommunicator::start_all_to_all(at::Tensor& output, const at::Tensor& input,
                                                const std::vector<std::int64_t>& output_splits,
                                                const std::vector<std::int64_t>& input_splits) {
  Call& call = my_call(Call::Kind::all_to_all);
  call.row_bytes = check_splits(output, input, output_splits, input_splits, size(), name());
  call.dtype = input.scalar_type();
  call.input = input.const_data_ptr();
  call.input_splits = input_splits;
  call.output_splits = output_splits;
  begin(call.kind);
  std::byte* target = static_cast<std::byte*>(output.data_ptr());
  for (int rank = 0; rank < size(); ++rank) {
    const Call& other = call_of(rank);
    std::int64_t row = 0;
    for (int before = 0; before < rank_; ++before) row += other.input_splits[before];
    const std::size_t bytes = static_cast<std::size_t>(output_splits[rank] * call.row_bytes);
    copy_bytes(target, static_cast<const std::byte*>(other.input) + row * call.row_bytes, bytes);
    target += bytes;
  }
  end();
}

void SharedMemoryCommunicator::start_broadcast(at::Tensor& tensor, int root) {
  check_contiguous(tensor, name(), "broadcast");
  D9D_CHECK(root >= 0 && root < size(), "broadcast of group {}: root {} of {} ranks", name(), root, size());
  Call& call = my_call(Call::Kind::broadcast);
  call.root = root;
  call.dtype = tensor.scalar_type();
  call.numel = tensor.numel();
  call.input = tensor.const_data_ptr();
  begin(call.kind);
  if (rank_ != root) copy_bytes(tensor.data_ptr(), call_of(root).input, tensor.nbytes());
  end();
}

void SharedMemoryCommunicator::barrier() {
  begin(my_call(Call::Kind::barrier).kind);
  ++operation_;
}

void SharedMemoryCommunicator::send(const at::Tensor& tensor, int receiver, int tag) {
  check_peer(receiver, rank_, size(), tag, name(), "send");
  if (group_->mailboxes.closed()) meeting_.throw_failed("send");
  group_->mailboxes.put(rank_, receiver, tag, {tensor.detach()});
}

void SharedMemoryCommunicator::start_receive(at::Tensor& tensor, int sender, int tag) {
  check_peer(sender, rank_, size(), tag, name(), "receive");
  check_contiguous(tensor, name(), "receive");
  const at::Tensor sent = group_->mailboxes.take(sender, rank_, tag, timeout_).tensor;
  if (!sent.defined()) fail_receive(sender, tag);
  D9D_CHECK(sent.sizes() == tensor.sizes() && sent.scalar_type() == tensor.scalar_type(),
            "receive of group {}: rank {} sent {} elements of {}, awaited are {} of {} in the same shape",
            name(), meeting_.ranks()[sender], sent.numel(), c10::toString(sent.scalar_type()), tensor.numel(),
            c10::toString(tensor.scalar_type()));
  tensor.copy_(sent);
}

void SharedMemoryCommunicator::fail_receive(int sender, int tag) {
  if (meeting_.failed()) meeting_.throw_failed("receive");
  group_->fail(fmt::format("nothing came from rank {} with tag {} within {} ms", meeting_.ranks()[sender],
                           tag, timeout_.count()));
  meeting_.throw_failed("receive");
}

}  // namespace
}  // namespace comm

SharedMemoryHub::SharedMemoryHub() = default;
SharedMemoryHub::~SharedMemoryHub() = default;

std::unique_ptr<Communicator> SharedMemoryHub::open(const Group& group, std::chrono::milliseconds timeout) {
  const std::lock_guard lock(mutex_);
  std::erase_if(groups_, [](const auto& other) { return other.second.expired(); });
  std::weak_ptr<comm::SharedGroup>& entry = groups_[group.name];
  std::shared_ptr<comm::SharedGroup> shared = entry.lock();
  if (!shared || shared->meeting.failed()) {
    shared = std::make_shared<comm::SharedGroup>(group.name, group.ranks);
    entry = shared;
  }
  D9D_CHECK(shared->meeting.ranks() == group.ranks, "group {} is open with other ranks", group.name);
  D9D_CHECK(shared->meeting.enter(group.index), "rank {} has group {} open already", group.ranks[group.index],
            group.name);
  return std::make_unique<comm::SharedMemoryCommunicator>(std::move(shared), group.index, timeout);
}

void SharedMemoryHub::abort_all(const std::string& reason) noexcept {
  const std::lock_guard lock(mutex_);
  for (auto& [name, entry] : groups_) {
    if (const auto shared = entry.lock()) shared->fail("aborted: " + reason);
  }
}

}  // namespace d9d
