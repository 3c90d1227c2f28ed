#pragma once
// The messages of two ranks over one connection: a head (mark, tag, length) and the bytes, without a copy
// from and into the tensors' memory. Never waits. Not thread-safe: SocketLinks calls it under its lock.

#include <array>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/net/channel.hpp"

namespace d9d::comm {

// One message. The caller keeps the job and its bytes alive until over().
struct LinkJob {
  int tag = 0;
  std::byte* data = nullptr;
  std::size_t bytes = 0;
  bool done = false;
  std::string failure;
  bool over() const { return done || !failure.empty(); }
};

class LinkStream {
 public:
  // `peer`: for error texts, e.g. "node 1 at 10.0.0.2:4000".
  LinkStream(std::unique_ptr<net::Channel> channel, std::string peer);

  // Begin a job and go as far as possible without waiting. The job fails if the peer is gone.
  void send(LinkJob& job);
  void receive(LinkJob& job);
  // Cancels an unfinished job. If part of it has been transferred, the connection is closed.
  void cancel(const LinkJob& job) noexcept;

  void read();
  void write();
  // Reads only while a message is awaited. All others stay with their sender, so no buffer grows here.
  bool wants_to_read() const { return awaited_ > 0 && failure_.empty(); }
  bool wants_to_write() const { return !outgoing_.empty() && failure_.empty(); }
  // Whether there are bytes to read that poll() does not see. An incomplete head does not count.
  bool has_hidden() const {
    return channel_->hides_bytes() || staged_end_ - staged_begin_ >= (in_message_ ? 1 : head_bytes);
  }
  int fd() const { return channel_->fd(); }

 private:
  static constexpr std::size_t head_bytes = 16;
  using Head = std::array<std::byte, head_bytes>;
  struct Outgoing {
    LinkJob* job;
    Head head;
    std::size_t moved;  // of head and bytes
  };
  // A message with a tag that is not awaited yet, before one that is.
  struct Early {
    int tag = 0;
    std::vector<std::byte> bytes;
  };

  bool fill_stage();
  bool read_body();
  void begin_message();
  void end_message();
  void deliver(LinkJob& job, const std::vector<std::byte>& bytes);
  void mismatch(LinkJob& job, std::size_t sent);
  void fail(const std::string& why) noexcept;

  const std::unique_ptr<net::Channel> channel_;
  const std::string peer_;
  std::string failure_;

  std::deque<Outgoing> outgoing_;
  std::map<int, std::deque<LinkJob*>> posted_;  // by tag
  int awaited_ = 0;
  std::map<int, std::deque<std::vector<std::byte>>> arrived_;

  // The message that is being read: into `job_`, or into `early_` if it was not awaited.
  bool in_message_ = false;
  LinkJob* job_ = nullptr;
  Early early_;
  std::byte* target_ = nullptr;
  std::size_t left_ = 0;
  // Buffer for reading a head and the begin of its message in one call.
  std::vector<std::byte> stage_ = std::vector<std::byte>(4096);
  std::size_t staged_begin_ = 0, staged_end_ = 0;
};

}  // namespace d9d::comm
