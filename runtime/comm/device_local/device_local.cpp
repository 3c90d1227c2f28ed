#include "runtime/comm/device_local/device_local.hpp"

#include <ATen/ops/empty.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/minimum.h>
#include <c10/core/GradMode.h>

#include <array>

#include "runtime/base/error.hpp"
#include "runtime/comm/checks.hpp"
#include "runtime/comm/communicator.hpp"
#include "runtime/comm/shared_memory/mailboxes.hpp"
#include "runtime/comm/shared_memory/meeting.hpp"
#include "runtime/device/device.hpp"
#include "runtime/device/work_log.hpp"
#include "runtime/device/work_name.hpp"

namespace d9d {
namespace comm {

// The data that a rank shows the others in an operation. Written before the ranks meet;
// `read` before they part.
struct Shown {
  at::Tensor input;
  Event filled;  // input has its values
  Event read;    // this rank has read all that it needs of the others
};

constexpr const char* device_backend = "device_local";

struct DeviceGroup {
  DeviceGroup(const std::string& name, const std::vector<int>& ranks)
      : meeting(name, ranks, device_backend), shown(ranks.size()) {}
  void fail(const std::string& reason) noexcept {
    meeting.fail(reason);
    mailboxes.close();
  }
  Meeting meeting;
  Mailboxes mailboxes;
  std::vector<std::array<Shown, 2>> shown;  // by rank, of this operation and of the one before
};

namespace {

bool is_half(at::ScalarType dtype) {
  return dtype == at::kHalf || dtype == at::kBFloat16;
}

void combine(at::Tensor& left, const at::Tensor& right, ReduceOp op) {
  switch (op) {
    case ReduceOp::sum:
      left.add_(right);
      return;
    case ReduceOp::max:
      left = at::maximum(left, right);
      return;
    case ReduceOp::min:
      left = at::minimum(left, right);
      return;
  }
}

// Adds neighbours, then pairs, in the order of comm/reduce.hpp, so the bits are the
// same. Overwrites the parts.
at::Tensor reduced(std::vector<at::Tensor> parts, ReduceOp op) {
  std::vector<at::Tensor> sums;
  const auto join_last = [&] {
    const at::Tensor right = std::move(sums.back());
    sums.pop_back();
    combine(sums.back(), right, op);
  };
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const at::Tensor& part = parts[i];
    sums.push_back(is_half(part.scalar_type()) ? part.to(at::kFloat) : part);
    for (std::size_t number = i + 1; number % 2 == 0; number /= 2) join_last();
  }
  while (sums.size() > 1) join_last();
  return sums.front();
}

class DeviceLocalCommunicator final : public Communicator {
 public:
  DeviceLocalCommunicator(std::shared_ptr<DeviceGroup> group, std::unique_ptr<Communicator> host,
                          std::chrono::milliseconds timeout)
      : Communicator(/*late=*/true),
        group_(std::move(group)),
        meeting_(group_->meeting),
        host_(std::move(host)),
        timeout_(timeout) {}
  ~DeviceLocalCommunicator() override {
    meeting_.leave(rank());
    group_->mailboxes.leave(rank());
  }

  int rank() const override { return host_->rank(); }
  int size() const override { return meeting_.size(); }
  const std::string& name() const override { return meeting_.group(); }
  const std::string& backend() const override { return backend_; }

  // Only the calling threads meet. Work that they have queued on streams may still run.
  void barrier() override { host_->barrier(); }
  void send(const at::Tensor& tensor, int receiver, int tag) override;
  void wait() override {
    const WorkName work("the result of " + name());
    if (device_ != nullptr) wait_inside(*device_, done_, "wait for " + name());
  }
  void abort(const std::string& reason) noexcept override {
    group_->fail("aborted: " + reason);
    host_->abort(reason);
  }
  void set_timeout(std::chrono::milliseconds timeout) override {
    timeout_ = timeout;
    host_->set_timeout(timeout);
  }

 protected:
  void start_all_reduce(at::Tensor& tensor, ReduceOp op) override;
  void start_reduce_scatter(at::Tensor& output, const at::Tensor& input, ReduceOp op) override;
  void start_all_gather(at::Tensor& output, const at::Tensor& input) override;
  void start_all_to_all(at::Tensor& output, const at::Tensor& input, const Splits& from,
                        const Splits& to) override;
  void start_broadcast(at::Tensor& tensor, int root) override;
  void start_receive(at::Tensor& tensor, int sender, int tag) override;

 private:
  Call& my_call(Call::Kind kind, const at::Tensor& input) {
    Call& call = meeting_.call(rank(), operation_);
    call.kind = kind;
    call.op = ReduceOp::sum;
    call.dtype = input.scalar_type();
    call.root = 0;
    call.numel = input.numel();
    call.row_bytes = 0;
    return call;
  }
  Shown& shown(int rank) { return group_->shown[static_cast<std::size_t>(rank)][operation_ % 2]; }
  const at::Tensor& input_of(int rank) { return shown(rank).input; }

  // Runs one collective. read() copies from the inputs of the others, write() may overwrite this rank's.
  // If read() throws, the group fails.
  template <class Read, class Write>
  void meet(Call::Kind kind, const at::Tensor& input, const at::Tensor& output, Read&& read, Write&& write);
  // Copies of elements [begin, begin + count) of each rank's input.
  std::vector<at::Tensor> parts(Device& device, const at::Tensor& like, std::int64_t begin,
                                std::int64_t count);
  // Marks the end of the work on the current stream. The event also records its time if
  // a detailed WorkLog asks.
  static Event mark(Device& device) {
    return WorkLog::current_if_detailed() != nullptr ? device.record_time(device.current_stream())
                                                     : device.record();
  }
  // Measures the collective twice: from now, and from the event `behind`. Only the second time includes
  // waiting for the peers.
  WorkTimer timed(Device& device, const char* operation, std::uint64_t bytes, const Event& behind) const {
    WorkLog* const log = WorkLog::current_if_detailed();
    if (log == nullptr) return {};
    return {log,
            device,
            {.kind = LoggedWork::Kind::collective,
             .name = fmt::format("{} {}", operation, name()),
             .bytes = bytes,
             .stream = StreamRole::communicate,
             .behind = behind}};
  }
  // Records the event that wait() waits for. To be called when the operation's work is queued.
  void finish(Device& device) {
    device_ = &device;
    done_ = device.record(StreamRole::communicate);
  }

  const std::shared_ptr<DeviceGroup> group_;
  Meeting& meeting_;
  const std::unique_ptr<Communicator> host_;
  const std::string backend_ = device_backend;
  std::chrono::milliseconds timeout_;
  std::uint64_t operation_ = 0;
  Device* device_ = nullptr;  // of the last call
  Event done_;
};

template <class Read, class Write>
void DeviceLocalCommunicator::meet(Call::Kind kind, const at::Tensor& input, const at::Tensor& output,
                                   Read&& read, Write&& write) {
  const c10::NoGradGuard no_grad;
  const WorkName work(fmt::format("{} of {}", name_of(kind), name()));
  Device& device = device_of(input.device());
  Shown& own = shown(rank());
  const Event filled = mark(device);
  own = {input.detach(), filled, {}};
  meeting_.arrive(rank(), name_of(kind), timeout_);
  meeting_.check_same_call(operation_);
  const StreamScope scope(device, StreamRole::communicate);
  device.use(input, StreamRole::communicate);  // also if an exception ends the call
  device.use(output, StreamRole::communicate);
  WorkTimer timer = timed(device, name_of(kind), std::max(input.nbytes(), output.nbytes()), filled);
  try {
    const WorkName reads("before it reads");
    for (int member = 0; member < size(); ++member) device.wait(shown(member).filled);
    read(device);
    own.read = device.record();
  } catch (const std::exception& error) {
    group_->fail(fmt::format("rank {} failed in {}: {}", meeting_.ranks()[static_cast<std::size_t>(rank())],
                             name_of(kind), error.what()));
    meeting_.finish(rank());  // the others wait there, without a timeout, for every rank that has arrived
    throw;
  }
  meeting_.finish(rank());
  const WorkName writes("until the others have read");
  for (int member = 0; member < size(); ++member) device.wait(shown(member).read);
  own.input = at::Tensor();
  ++operation_;  // before write(), which may throw: the others count this operation in any case
  write();
  timer.end();
  finish(device);
}

std::vector<at::Tensor> DeviceLocalCommunicator::parts(Device& device, const at::Tensor& like,
                                                       std::int64_t begin, std::int64_t count) {
  std::vector<at::Tensor> copies;
  for (int other = 0; other < size(); ++other) {
    copies.push_back(at::empty({count}, like.options().requires_grad(false)));
    device.copy(copies.back(), input_of(other).view({-1}).narrow(0, begin, count));
  }
  return copies;
}

void DeviceLocalCommunicator::start_all_reduce(at::Tensor& tensor, ReduceOp op) {
  if (tensor.is_cpu()) return host_->all_reduce(tensor, op).wait();
  check_contiguous(tensor, name(), "all_reduce");
  my_call(Call::Kind::all_reduce, tensor).op = op;
  at::Tensor sum;
  meet(
      Call::Kind::all_reduce, tensor, tensor,
      [&](Device& device) { sum = reduced(parts(device, tensor, 0, tensor.numel()), op); },
      [&] { tensor.detach().view({-1}).copy_(sum); });
}

void DeviceLocalCommunicator::start_reduce_scatter(at::Tensor& output, const at::Tensor& input, ReduceOp op) {
  if (input.is_cpu()) return host_->reduce_scatter(output, input, op).wait();
  check_scatter(output, input, size(), name());
  my_call(Call::Kind::reduce_scatter, input).op = op;
  at::Tensor sum;
  meet(
      Call::Kind::reduce_scatter, input, output,
      [&](Device& device) {
        sum = reduced(parts(device, input, rank() * output.numel(), output.numel()), op);
      },
      [&] { output.detach().view({-1}).copy_(sum); });
}

void DeviceLocalCommunicator::start_all_gather(at::Tensor& output, const at::Tensor& input) {
  if (input.is_cpu()) return host_->all_gather(output, input).wait();
  check_gather(output, input, size(), name());
  my_call(Call::Kind::all_gather, input);
  const auto read = [&](Device& device) {
    const at::Tensor blocks = output.detach().view({size(), -1});
    for (int other = 0; other < size(); ++other) {
      const at::Tensor block = blocks[other];
      const at::Tensor& from = input_of(other);  // this rank's own block may be in place already
      const bool in_place = block.is_alias_of(from) && block.storage_offset() == from.storage_offset();
      if (!in_place) device.copy(block, from.view({-1}));
    }
  };
  meet(Call::Kind::all_gather, input, output, read, [] {});
}

void DeviceLocalCommunicator::start_all_to_all(at::Tensor& output, const at::Tensor& input,
                                               const Splits& from, const Splits& to) {
  if (input.is_cpu()) return host_->all_to_all(output, input, from, to).wait();
  Call& call = my_call(Call::Kind::all_to_all, input);
  call.row_bytes = check_splits(output, input, from, to, size(), name());
  call.numel = 0;
  call.input_splits = to;
  call.output_splits = from;
  const auto read = [&](Device& device) {
    const at::Tensor received = output.detach();
    std::int64_t next = 0;
    for (int other = 0; other < size(); ++other) {
      const Splits& theirs = meeting_.call(other, operation_).input_splits;
      std::int64_t row = 0;
      for (int before = 0; before < rank(); ++before) row += theirs[static_cast<std::size_t>(before)];
      const std::int64_t count = from[static_cast<std::size_t>(other)];
      device.copy(received.narrow(0, next, count), input_of(other).narrow(0, row, count));
      next += count;
    }
  };
  meet(Call::Kind::all_to_all, input, output, read, [] {});
}

void DeviceLocalCommunicator::start_broadcast(at::Tensor& tensor, int root) {
  if (tensor.is_cpu()) return host_->broadcast(tensor, root).wait();
  check_contiguous(tensor, name(), "broadcast");
  D9D_CHECK(root >= 0 && root < size(), "broadcast of group {}: root {} of {} ranks", name(), root, size());
  my_call(Call::Kind::broadcast, tensor).root = root;
  const auto read = [&](Device& device) {
    if (rank() != root) device.copy(tensor.detach(), input_of(root));
  };
  meet(Call::Kind::broadcast, tensor, tensor, read, [] {});
}

void DeviceLocalCommunicator::send(const at::Tensor& tensor, int receiver, int tag) {
  if (tensor.is_cpu()) return host_->send(tensor, receiver, tag);
  check_peer(receiver, rank(), size(), tag, name(), "send");
  if (group_->mailboxes.closed()) meeting_.throw_failed("send");
  group_->mailboxes.put(rank(), receiver, tag, {tensor.detach(), device_of(tensor.device()).record()});
}

void DeviceLocalCommunicator::start_receive(at::Tensor& tensor, int sender, int tag) {
  if (tensor.is_cpu()) return host_->receive(tensor, sender, tag).wait();
  check_peer(sender, rank(), size(), tag, name(), "receive");
  check_contiguous(tensor, name(), "receive");
  const Mail mail = group_->mailboxes.take(sender, rank(), tag, timeout_);
  if (!mail.tensor.defined()) {
    group_->fail(fmt::format("nothing came from rank {} with tag {} within {} ms",
                             meeting_.ranks()[static_cast<std::size_t>(sender)], tag, timeout_.count()));
    meeting_.throw_failed("receive");
  }
  D9D_CHECK(mail.tensor.sizes() == tensor.sizes() && mail.tensor.scalar_type() == tensor.scalar_type(),
            "receive of group {}: {} elements of {} were sent, awaited are {} of {} in the same shape",
            name(), mail.tensor.numel(), c10::toString(mail.tensor.scalar_type()), tensor.numel(),
            c10::toString(tensor.scalar_type()));
  const WorkName work(fmt::format("receive of {}", name()));
  Device& device = device_of(tensor.device());
  const Event free = mark(device);
  const StreamScope scope(device, StreamRole::communicate);
  device.use(tensor, StreamRole::communicate);
  WorkTimer timer = timed(device, "receive", tensor.nbytes(), free);
  device.wait(free);
  device.wait(mail.ready);
  device.copy(tensor.detach(), mail.tensor);
  timer.end();
  finish(device);
  device_of(mail.tensor.device()).use_until(mail.tensor, done_);
}

}  // namespace
}  // namespace comm

DeviceHub::DeviceHub() = default;
DeviceHub::~DeviceHub() = default;

std::unique_ptr<Communicator> DeviceHub::open(const Group& group, std::unique_ptr<Communicator> host,
                                              std::chrono::milliseconds timeout) {
  const std::lock_guard lock(mutex_);
  std::erase_if(groups_, [](const auto& other) { return other.second.expired(); });
  std::weak_ptr<comm::DeviceGroup>& entry = groups_[group.name];
  std::shared_ptr<comm::DeviceGroup> shared = entry.lock();
  if (!shared || shared->meeting.failed()) {
    shared = std::make_shared<comm::DeviceGroup>(group.name, group.ranks);
    entry = shared;
  }
  D9D_CHECK(shared->meeting.ranks() == group.ranks, "group {} is open with other ranks", group.name);
  D9D_CHECK(shared->meeting.enter(group.index), "rank {} has group {} open already", group.ranks[group.index],
            group.name);
  return std::make_unique<comm::DeviceLocalCommunicator>(std::move(shared), std::move(host), timeout);
}

void DeviceHub::abort_all(const std::string& reason) noexcept {
  const std::lock_guard lock(mutex_);
  for (auto& [name, entry] : groups_) {
    if (const auto shared = entry.lock()) shared->fail("aborted: " + reason);
  }
}

}  // namespace d9d
