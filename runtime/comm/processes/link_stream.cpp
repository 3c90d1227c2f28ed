#include "runtime/comm/processes/link_stream.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <utility>

namespace d9d::comm {
namespace {

constexpr std::uint32_t head_mark = 0x64396421;  // the first bytes of every head
// At most this much per call of read() or write(), so that other connections and other
// threads have their turn.
constexpr std::size_t turn_bytes = std::size_t{4} << 20;

}  // namespace

LinkStream::LinkStream(std::unique_ptr<net::Channel> channel, std::string peer)
    : channel_(std::move(channel)), peer_(std::move(peer)) {
  channel_->expect_much();
}

void LinkStream::send(LinkJob& job) {
  if (!failure_.empty()) {
    job.failure = failure_;
    return;
  }
  Head head;
  const auto tag = static_cast<std::uint32_t>(job.tag);
  const auto bytes = static_cast<std::uint64_t>(job.bytes);
  std::memcpy(head.data(), &head_mark, 4);
  std::memcpy(head.data() + 4, &tag, 4);
  std::memcpy(head.data() + 8, &bytes, 8);
  outgoing_.push_back({&job, head, 0});
  if (outgoing_.size() == 1) write();
}

void LinkStream::receive(LinkJob& job) {
  if (const auto found = arrived_.find(job.tag); found != arrived_.end()) {
    deliver(job, found->second.front());
    found->second.pop_front();
    if (found->second.empty()) arrived_.erase(found);
    return;
  }
  if (!failure_.empty()) {
    job.failure = failure_;
    return;
  }
  posted_[job.tag].push_back(&job);
  ++awaited_;
  // Bytes that were read from the socket before would not make poll() return.
  if (has_hidden()) read();
}

void LinkStream::cancel(const LinkJob& job) noexcept {
  const auto sent =
      std::find_if(outgoing_.begin(), outgoing_.end(), [&](const Outgoing& out) { return out.job == &job; });
  if (sent != outgoing_.end()) {
    const bool begun = sent->moved > 0;
    outgoing_.erase(sent);
    // The peer waits for the rest of the bytes, so the connection cannot carry another message.
    if (begun) fail("a transfer was cancelled halfway");
    return;
  }
  if (job_ == &job) {
    job_ = nullptr;
    --awaited_;
    return fail("a transfer was cancelled halfway");
  }
  const auto found = posted_.find(job.tag);
  if (found == posted_.end()) return;
  awaited_ -= static_cast<int>(std::erase(found->second, &job));
  if (found->second.empty()) posted_.erase(found);
}

void LinkStream::write() {
  std::size_t turn = 0;
  while (wants_to_write() && turn < turn_bytes) {
    Outgoing& front = outgoing_.front();
    if (front.moved == head_bytes + front.job->bytes) {
      const net::Io io = channel_->flush();
      if (io == net::Io::failed) return fail(channel_->failure());
      if (io != net::Io::done) return;
      front.job->done = true;
      outgoing_.pop_front();
      continue;
    }
    const std::size_t of_head = std::min(front.moved, head_bytes);
    const std::size_t of_body = front.moved - of_head;
    const iovec parts[] = {{front.head.data() + of_head, head_bytes - of_head},
                           {front.job->data + of_body, front.job->bytes - of_body}};
    const bool head_sent = of_head == head_bytes;
    std::size_t sent = 0;
    const net::Io io = channel_->write(head_sent ? parts + 1 : parts, head_sent ? 1 : 2, sent);
    if (io == net::Io::failed) return fail(channel_->failure());
    if (io != net::Io::done) return;
    turn += sent;
    front.moved += sent;
  }
}

void LinkStream::read() {
  for (std::size_t turn = 0; wants_to_read() && turn < turn_bytes;) {
    if (in_message_) {
      const std::size_t before = left_;
      if (!read_body()) return;
      turn += before - left_;
    } else if (staged_end_ - staged_begin_ >= head_bytes) {
      begin_message();
    } else if (!fill_stage()) {
      return;
    }
  }
}

bool LinkStream::fill_stage() {
  std::memmove(stage_.data(), stage_.data() + staged_begin_, staged_end_ - staged_begin_);
  staged_end_ -= staged_begin_;
  staged_begin_ = 0;
  std::size_t got = 0;
  const net::Io io = channel_->read(stage_.data() + staged_end_, stage_.size() - staged_end_, got);
  if (io == net::Io::failed) fail(channel_->failure());
  if (io == net::Io::done) staged_end_ += got;
  return io == net::Io::done;
}

void LinkStream::begin_message() {
  std::uint32_t mark = 0, tag = 0;
  std::uint64_t bytes = 0;
  const std::byte* const head = stage_.data() + staged_begin_;
  std::memcpy(&mark, head, 4);
  std::memcpy(&tag, head + 4, 4);
  std::memcpy(&bytes, head + 8, 8);
  staged_begin_ += head_bytes;
  if (mark != head_mark || bytes > std::numeric_limits<std::uint32_t>::max() * std::uint64_t{4096})
    return fail("it sent bytes that are not the start of a message");
  left_ = bytes;
  in_message_ = true;
  const auto found = posted_.find(static_cast<int>(tag));
  if (found == posted_.end()) {
    early_ = {static_cast<int>(tag), std::vector<std::byte>(bytes)};
    target_ = early_.bytes.data();
  } else {
    LinkJob& job = *found->second.front();
    if (job.bytes != bytes) return mismatch(job, bytes);
    job_ = &job;
    found->second.pop_front();
    if (found->second.empty()) posted_.erase(found);
    target_ = job.data;
  }
  if (left_ == 0) end_message();
}

bool LinkStream::read_body() {
  std::size_t got = std::min(left_, staged_end_ - staged_begin_);
  if (got > 0) {
    std::memcpy(target_, stage_.data() + staged_begin_, got);
    staged_begin_ += got;
  } else {
    const net::Io io = channel_->read(target_, left_, got);
    if (io == net::Io::failed) fail(channel_->failure());
    if (io != net::Io::done) return false;
  }
  target_ += got;
  left_ -= got;
  if (left_ == 0) end_message();
  return true;
}

void LinkStream::end_message() {
  in_message_ = false;
  if (LinkJob* const job = std::exchange(job_, nullptr)) {
    job->done = true;
    --awaited_;
    return;
  }
  // A thread may have asked for this tag since the message began.
  const auto found = posted_.find(early_.tag);
  if (found == posted_.end()) {
    arrived_[early_.tag].push_back(std::move(early_.bytes));
    return;
  }
  LinkJob& job = *found->second.front();
  found->second.pop_front();
  if (found->second.empty()) posted_.erase(found);
  --awaited_;
  deliver(job, early_.bytes);
}

void LinkStream::deliver(LinkJob& job, const std::vector<std::byte>& bytes) {
  if (bytes.size() != job.bytes) return mismatch(job, bytes.size());
  std::copy(bytes.begin(), bytes.end(), job.data);
  job.done = true;
}

// Fails the whole connection: if lengths differ, the ranks are in different operations from here on.
void LinkStream::mismatch(LinkJob& job, std::size_t sent) {
  const std::string why = fmt::format(
      "sends {} bytes where {} are awaited: the ranks do not call the same operations, or with other shapes "
      "(debug.check_collectives: true says which)",
      sent, job.bytes);
  fail(why);
  job.failure = failure_;
}

void LinkStream::fail(const std::string& why) noexcept {
  if (!failure_.empty()) return;
  failure_ = fmt::format("{}: {}", peer_, why);
  for (const Outgoing& out : outgoing_) out.job->failure = failure_;
  for (const auto& [tag, jobs] : posted_) {
    for (LinkJob* const job : jobs) job->failure = failure_;
  }
  if (job_ != nullptr) job_->failure = failure_;
  outgoing_.clear();
  posted_.clear();
  job_ = nullptr;
  awaited_ = 0;
}

}  // namespace d9d::comm
