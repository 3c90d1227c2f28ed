#include "runtime/comm/processes/socket_links.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "runtime/base/error.hpp"

namespace d9d::comm {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

class SocketLinks::SocketTransfer final : public Transfer {
 public:
  SocketTransfer(SocketLinks& links, LinkStream& stream, LinkJob job)
      : links_(links), stream_(stream), job_(std::move(job)) {}
  ~SocketTransfer() override { links_.forget(*this); }
  SocketTransfer(const SocketTransfer&) = delete;
  SocketTransfer& operator=(const SocketTransfer&) = delete;

  void wait(milliseconds timeout) override { links_.wait_for(*this, timeout); }
  void abort() noexcept override { links_.abort(*this); }
  bool is_done() override {
    const std::lock_guard lock(links_.mutex_);
    return job_.done;
  }

 private:
  friend SocketLinks;
  SocketLinks& links_;
  LinkStream& stream_;
  LinkJob job_;
  bool aborted_ = false;
};

SocketLinks::SocketLinks(std::vector<std::unique_ptr<LinkStream>> streams)
    : streams_(std::move(streams)), wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (wake_) return;
  throw Error(ErrorKind::environment,
              fmt::format("no descriptor for a group's links: {}; raise ulimit -n", std::strerror(errno)));
}

std::unique_ptr<Transfer> SocketLinks::send(int peer, const void* data, std::size_t bytes, int tag) {
  auto* const from = static_cast<std::byte*>(const_cast<void*>(data));
  auto transfer = std::make_unique<SocketTransfer>(*this, *streams_[static_cast<std::size_t>(peer)],
                                                   LinkJob{.tag = tag, .data = from, .bytes = bytes});
  begin(*transfer, true);
  return transfer;
}

std::unique_ptr<Transfer> SocketLinks::receive(int peer, void* data, std::size_t bytes, int tag) {
  auto* const into = static_cast<std::byte*>(data);
  auto transfer = std::make_unique<SocketTransfer>(*this, *streams_[static_cast<std::size_t>(peer)],
                                                   LinkJob{.tag = tag, .data = into, .bytes = bytes});
  begin(*transfer, false);
  return transfer;
}

void SocketLinks::begin(SocketTransfer& transfer, bool sends) {
  const std::lock_guard lock(mutex_);
  sends ? transfer.stream_.send(transfer.job_) : transfer.stream_.receive(transfer.job_);
  if (!transfer.job_.failure.empty()) throw std::runtime_error(transfer.job_.failure);
  // Wakes the thread in poll(), which does not know this transfer yet. A follower's message
  // may be complete already.
  if (driven_ && !transfer.job_.done) kick();
  if (followers_ > 0) changed_.notify_all();
}

void SocketLinks::wait_for(SocketTransfer& transfer, milliseconds timeout) {
  const LinkJob& job = transfer.job_;
  const auto deadline = steady_clock::now() + timeout;
  std::unique_lock lock(mutex_);
  const auto goes_on = [&] { return !job.over() && !transfer.aborted_ && steady_clock::now() < deadline; };
  // One of the waiting threads drives all links. When its transfer is over it wakes the others,
  // and one takes over.
  while (goes_on()) {
    if (driven_) {
      ++followers_;
      changed_.wait_until(lock, deadline);
      --followers_;
      continue;
    }
    driven_ = true;
    while (goes_on()) drive(lock, deadline);
    driven_ = false;
    if (followers_ > 0) changed_.notify_all();
  }
  if (job.done) return;
  if (!job.failure.empty()) throw std::runtime_error(job.failure);
  if (transfer.aborted_) throw std::runtime_error("aborted");
  throw std::runtime_error(fmt::format("silent for {} ms", timeout.count()));
}

void SocketLinks::drive(std::unique_lock<std::mutex>& lock, steady_clock::time_point deadline) {
  std::vector<pollfd> fds{{wake_.get(), POLLIN, 0}};
  std::vector<LinkStream*> of_fds{nullptr};
  bool hidden = false;
  for (const auto& stream : streams_) {
    if (!stream || (!stream->wants_to_read() && !stream->wants_to_write())) continue;
    const int events = (stream->wants_to_read() ? POLLIN : 0) | (stream->wants_to_write() ? POLLOUT : 0);
    fds.push_back({stream->fd(), static_cast<short>(events), 0});
    of_fds.push_back(stream.get());
    hidden = hidden || (stream->wants_to_read() && stream->has_hidden());
  }
  const auto left = std::chrono::ceil<milliseconds>(deadline - steady_clock::now()).count();
  const int wait_ms = hidden ? 0 : static_cast<int>(std::clamp<std::int64_t>(left, 0, 60'000));
  lock.unlock();
  poll(fds.data(), fds.size(), wait_ms);
  lock.lock();
  if (fds[0].revents != 0) {
    eventfd_t ignored = 0;
    eventfd_read(wake_.get(), &ignored);
  }
  for (std::size_t i = 1; i < fds.size(); ++i) {
    if ((fds[i].revents & ~POLLIN) != 0) of_fds[i]->write();
    if ((fds[i].revents & ~POLLOUT) != 0 || of_fds[i]->has_hidden()) of_fds[i]->read();
  }
  if (followers_ > 0) changed_.notify_all();
}

void SocketLinks::abort(SocketTransfer& transfer) noexcept {
  const std::lock_guard lock(mutex_);
  transfer.aborted_ = true;
  changed_.notify_all();
  if (driven_) kick();
}

void SocketLinks::forget(SocketTransfer& transfer) noexcept {
  const std::lock_guard lock(mutex_);
  if (!transfer.job_.over()) transfer.stream_.cancel(transfer.job_);
}

void SocketLinks::kick() const noexcept {
  eventfd_write(wake_.get(), 1);
}

}  // namespace d9d::comm
