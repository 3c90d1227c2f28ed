#pragma once
// What a transport between processes has to provide: bytes from one rank to another, matched by tag, without
// waiting. exchange.hpp makes collectives, abort and error texts of it.

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>

namespace d9d::comm {

// A transfer under way; its buffer must stay alive and unchanged until it has ended.
class Transfer {
 public:
  virtual ~Transfer() = default;
  // Returns when the bytes are there (receive) or handed over (send). Throws any std::exception when the peer
  // is gone, the time is up, or abort() was called.
  virtual void wait(std::chrono::milliseconds timeout) = 0;
  // From any thread: ends the wait, also one that has not begun.
  virtual void abort() noexcept = 0;
  // Whether wait() would return at once without an error.
  virtual bool is_done() { return false; }
};

// Messages of one (sender, receiver, tag) arrive in the order sent. Calls may come from any thread.
class PeerLinks {
 public:
  virtual ~PeerLinks() = default;
  virtual std::unique_ptr<Transfer> send(int peer, const void* data, std::size_t bytes, int tag) = 0;
  virtual std::unique_ptr<Transfer> receive(int peer, void* data, std::size_t bytes, int tag) = 0;
  virtual void set_timeout(std::chrono::milliseconds timeout) = 0;
};

}  // namespace d9d::comm
