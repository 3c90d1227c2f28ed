#include "runtime/comm/processes/exchange.hpp"

#include <algorithm>
#include <cstring>

#include "runtime/base/error.hpp"
#include "runtime/comm/checks.hpp"
#include "runtime/comm/reduce.hpp"

namespace d9d::comm {
namespace {

constexpr int collective_tag = 1 << 30;
// Up to this size every rank sends the whole tensor to all others, which takes one round instead of two.
constexpr std::size_t small_bytes = std::size_t{1} << 16;
// An all-reduce works on this many bytes at a time, which bounds its scratch memory.
constexpr std::int64_t segment_bytes = std::int64_t{8} << 20;

std::byte* bytes_of(const at::Tensor& tensor) {
  return static_cast<std::byte*>(const_cast<void*>(tensor.const_data_ptr()));
}

}  // namespace

ExchangeCommunicator::ExchangeCommunicator(std::unique_ptr<PeerLinks> links, Group group, std::string backend,
                                           std::chrono::milliseconds timeout)
    : links_(std::move(links)), group_(std::move(group)), backend_(std::move(backend)), timeout_(timeout) {}

ExchangeCommunicator::~ExchangeCommunicator() {
  {
    const std::lock_guard lock(sent_mutex_);
    closing_ = true;
    sent_changed_.notify_all();
  }
  if (keeper_.joinable()) keeper_.join();
}

template <class Peers>
void ExchangeCommunicator::for_peers(Peers&& with_peer) const {
  // Each rank begins with its neighbour, so that not all ranks send to rank 0 first.
  for (int step = 1; step < group_.size(); ++step) with_peer((group_.index + step) % group_.size());
}

void ExchangeCommunicator::exchange(const char* operation, const std::vector<Bytes>& outgoing,
                                    const std::vector<Bytes>& incoming) {
  aborted_.throw_if_set(operation, name(), backend_);
  const int tag = collective_tag | (collectives_++ & (collective_tag - 1));
  std::vector<std::pair<int, std::unique_ptr<Transfer>>> transfers;
  for (const Bytes& bytes : incoming) {
    if (bytes.size > 0) transfers.emplace_back(bytes.peer, begin_receive(bytes, tag, operation));
  }
  for (const Bytes& bytes : outgoing) {
    if (bytes.size > 0) transfers.emplace_back(bytes.peer, begin_send(bytes, tag, operation));
  }
  for (auto& [peer, transfer] : transfers) wait_for(*transfer, peer, operation);
}

// If the links know already that the peer is gone, they throw at once.
std::unique_ptr<Transfer> ExchangeCommunicator::begin_receive(const Bytes& bytes, int tag,
                                                              const char* operation) {
  try {
    return links_->receive(bytes.peer, bytes.data, bytes.size, tag);
  } catch (const NotMet& error) {
    fail_all(error, operation);
  } catch (const std::exception& error) {
    fail_of(bytes.peer, error, operation);
  }
}

std::unique_ptr<Transfer> ExchangeCommunicator::begin_send(const Bytes& bytes, int tag,
                                                           const char* operation) {
  try {
    return links_->send(bytes.peer, bytes.data, bytes.size, tag);
  } catch (const NotMet& error) {
    fail_all(error, operation);
  } catch (const std::exception& error) {
    fail_of(bytes.peer, error, operation);
  }
}

void ExchangeCommunicator::wait_for(Transfer& transfer, int peer, const char* operation) {
  {
    const std::lock_guard lock(in_flight_mutex_);
    aborted_.throw_if_set(operation, name(), backend_);
    in_flight_.insert(&transfer);
  }
  std::string failure;
  try {
    transfer.wait(timeout_.load());
  } catch (const std::exception& error) {
    failure = fmt::format("rank {}: {}", group_.ranks[peer], error.what());
  }
  {
    const std::lock_guard lock(in_flight_mutex_);
    in_flight_.erase(&transfer);
  }
  if (failure.empty()) return;
  fail(failure);
  aborted_.throw_if_set(operation, name(), backend_);
}

void ExchangeCommunicator::start_all_reduce(at::Tensor& tensor, ReduceOp op) {
  check_contiguous(tensor, name(), "all_reduce");
  if (tensor.nbytes() * (size() - 1) <= small_bytes) return reduce_small(tensor, op);
  const auto element = static_cast<std::int64_t>(tensor.element_size());
  const std::int64_t segment = segment_bytes / element;
  for (std::int64_t begin = 0; begin < tensor.numel(); begin += segment) {
    const std::int64_t count = std::min(segment, tensor.numel() - begin);
    reduce_segment(bytes_of(tensor) + begin * element, count, tensor.scalar_type(), op);
  }
}

void ExchangeCommunicator::reduce_small(at::Tensor& tensor, ReduceOp op) {
  const std::size_t bytes = tensor.nbytes();
  std::byte* const got = scratch(bytes * size());
  std::vector<Bytes> outgoing, incoming;
  for_peers([&](int peer) {
    outgoing.push_back({peer, bytes_of(tensor), bytes});
    incoming.push_back({peer, got + peer * bytes, bytes});
  });
  exchange("all_reduce", outgoing, incoming);
  std::vector<const void*> sources;
  for (int peer = 0; peer < size(); ++peer)
    sources.push_back(peer == rank() ? bytes_of(tensor) : got + peer * bytes);
  void* const target = bytes_of(tensor);
  reduce(tensor.scalar_type(), op, sources, {&target, 1}, tensor.numel());
}

void ExchangeCommunicator::reduce_segment(std::byte* data, std::int64_t count, c10::ScalarType dtype,
                                          ReduceOp op) {
  const std::size_t element = c10::elementSize(dtype);
  const Range mine = part_of(count, size(), rank());
  const std::size_t my_bytes = mine.size() * element;
  std::byte* const my_data = data + mine.begin * element;
  std::byte* const got = scratch(my_bytes * size());
  std::vector<Bytes> theirs, to_sum, sum;
  for_peers([&](int peer) {
    const Range part = part_of(count, size(), peer);
    theirs.push_back({peer, data + part.begin * element, part.size() * element});
    to_sum.push_back({peer, got + peer * my_bytes, my_bytes});
    sum.push_back({peer, my_data, my_bytes});
  });
  exchange("all_reduce", theirs, to_sum);
  std::vector<const void*> sources;
  for (int peer = 0; peer < size(); ++peer)
    sources.push_back(peer == rank() ? my_data : got + peer * my_bytes);
  void* const target = my_data;
  reduce(dtype, op, sources, {&target, 1}, mine.size());
  exchange("all_reduce", sum, theirs);
}

void ExchangeCommunicator::start_reduce_scatter(at::Tensor& output, const at::Tensor& input, ReduceOp op) {
  check_scatter(output, input, size(), name());
  const std::size_t bytes = output.nbytes();
  std::byte* const got = scratch(bytes * size());
  std::vector<Bytes> outgoing, incoming;
  for_peers([&](int peer) {
    outgoing.push_back({peer, bytes_of(input) + peer * bytes, bytes});
    incoming.push_back({peer, got + peer * bytes, bytes});
  });
  exchange("reduce_scatter", outgoing, incoming);
  std::vector<const void*> sources;
  for (int peer = 0; peer < size(); ++peer) {
    sources.push_back((peer == rank() ? bytes_of(input) : got) + peer * bytes);
  }
  void* const target = bytes_of(output);
  reduce(output.scalar_type(), op, sources, {&target, 1}, output.numel());
}

void ExchangeCommunicator::start_all_gather(at::Tensor& output, const at::Tensor& input) {
  check_gather(output, input, size(), name());
  const std::size_t bytes = input.nbytes();
  std::vector<Bytes> outgoing, incoming;
  for_peers([&](int peer) {
    outgoing.push_back({peer, bytes_of(input), bytes});
    incoming.push_back({peer, bytes_of(output) + peer * bytes, bytes});
  });
  exchange("all_gather", outgoing, incoming);
  std::byte* const own = bytes_of(output) + rank() * bytes;
  if (own != bytes_of(input) && bytes > 0) std::memmove(own, bytes_of(input), bytes);
}

void ExchangeCommunicator::start_all_to_all(at::Tensor& output, const at::Tensor& input,
                                            const std::vector<std::int64_t>& output_splits,
                                            const std::vector<std::int64_t>& input_splits) {
  const std::int64_t row = check_splits(output, input, output_splits, input_splits, size(), name());
  D9D_CHECK(output_splits[rank()] == input_splits[rank()],
            "all_to_all of group {}: {} rows to itself, {} awaited", name(), input_splits[rank()],
            output_splits[rank()]);
  std::vector<Bytes> outgoing, incoming;
  std::byte* from = bytes_of(input);
  std::byte* into = bytes_of(output);
  for (int peer = 0; peer < size(); ++peer) {
    const std::size_t out = input_splits[peer] * row;
    const std::size_t in = output_splits[peer] * row;
    if (peer != rank()) {
      outgoing.push_back({peer, from, out});
      incoming.push_back({peer, into, in});
    } else if (out > 0) {
      std::memcpy(into, from, out);
    }
    from += out;
    into += in;
  }
  exchange("all_to_all", outgoing, incoming);
}

void ExchangeCommunicator::start_broadcast(at::Tensor& tensor, int root) {
  check_contiguous(tensor, name(), "broadcast");
  D9D_CHECK(root >= 0 && root < size(), "broadcast of group {}: root {} of {} ranks", name(), root, size());
  std::vector<Bytes> outgoing, incoming;
  if (rank() == root) {
    for_peers([&](int peer) { outgoing.push_back({peer, bytes_of(tensor), tensor.nbytes()}); });
  } else {
    incoming.push_back({root, bytes_of(tensor), tensor.nbytes()});
  }
  exchange("broadcast", outgoing, incoming);
}

// Dissemination barrier (Hensgen, Finkel, Manber 1988): log2(n) rounds.
void ExchangeCommunicator::barrier() {
  std::byte token{};
  std::byte got{};
  for (int distance = 1; distance < size(); distance *= 2) {
    exchange("barrier", {{(rank() + distance) % size(), &token, 1}},
             {{(rank() - distance % size() + size()) % size(), &got, 1}});
  }
}

void ExchangeCommunicator::send(const at::Tensor& tensor, int receiver, int tag) {
  check_peer(receiver, rank(), size(), tag, name(), "send");
  check_contiguous(tensor, name(), "send");
  aborted_.throw_if_set("send", name(), backend_);
  if (tensor.nbytes() == 0) return;
  const std::lock_guard lock(sent_mutex_);
  auto transfer = begin_send({receiver, bytes_of(tensor), tensor.nbytes()}, tag, "send");
  if (transfer->is_done()) return;
  sent_.push_back({std::move(transfer), tensor.detach(), receiver});
  if (!keeper_.joinable()) keeper_ = std::thread([this] { keep_until_delivered(); });
  sent_changed_.notify_all();
}

void ExchangeCommunicator::start_receive(at::Tensor& tensor, int sender, int tag) {
  check_peer(sender, rank(), size(), tag, name(), "receive");
  check_contiguous(tensor, name(), "receive");
  aborted_.throw_if_set("receive", name(), backend_);
  if (tensor.nbytes() == 0) return;
  const auto transfer = begin_receive({sender, bytes_of(tensor), tensor.nbytes()}, tag, "receive");
  wait_for(*transfer, sender, "receive");
}

void ExchangeCommunicator::keep_until_delivered() {
  std::unique_lock lock(sent_mutex_);
  while (true) {
    sent_changed_.wait(lock, [&] { return !sent_.empty() || closing_; });
    if (sent_.empty()) return;
    Sent oldest = std::move(sent_.front());
    sent_.pop_front();
    lock.unlock();
    try {
      wait_for(*oldest.transfer, oldest.receiver, "send");
    } catch (const Error&) {
      // fail() has kept the reason: the next call on this communicator throws it.
    }
    lock.lock();
  }
}

void ExchangeCommunicator::set_timeout(std::chrono::milliseconds timeout) {
  timeout_ = timeout;
  links_->set_timeout(timeout);
}

std::byte* ExchangeCommunicator::scratch(std::size_t bytes) {
  if (scratch_.size() < bytes) scratch_.resize(bytes);
  return scratch_.data();
}

void ExchangeCommunicator::fail_of(int peer, const std::exception& error, const char* operation) {
  fail(fmt::format("rank {}: {}", group_.ranks[peer], error.what()));
  fail_in_group(operation, name(), backend_, aborted_.reason());
}

void ExchangeCommunicator::fail_all(const NotMet& error, const char* operation) {
  fail(error.what());
  fail_in_group(operation, name(), backend_, aborted_.reason());
}

void ExchangeCommunicator::fail(const std::string& reason) noexcept {
  const std::lock_guard lock(in_flight_mutex_);
  aborted_.set(reason);
  links_->abort();
  for (Transfer* const transfer : in_flight_) transfer->abort();
}

}  // namespace d9d::comm
