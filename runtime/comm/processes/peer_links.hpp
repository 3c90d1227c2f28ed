#pragma once
// The interface of a transport between processes. It carries bytes from one rank to another, matched by tag,
// and begins each transfer without waiting. exchange.hpp builds collectives, abort and error texts on it.

#include <chrono>
#include <cstddef>
#include <memory>
#include <stdexcept>

namespace d9d::comm {

// A transfer under way. Its buffer must stay alive and unchanged until the transfer has ended.
class Transfer {
 public:
  virtual ~Transfer() = default;
  // Returns when the bytes have arrived (receive) or have been handed over (send). Throws some
  // std::exception if the peer is gone, after the timeout, and after abort().
  virtual void wait(std::chrono::milliseconds timeout) = 0;
  // Makes wait() throw, now or when it is called. From any thread.
  virtual void abort() noexcept = 0;
  // Returns whether wait() would return at once without an error.
  virtual bool is_done() { return false; }
};

// The links of a group cannot be made, whichever peer was called. The text names it.
class NotMet : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Messages of one (sender, receiver, tag) arrive in the order sent. Calls may come from any thread.
class PeerLinks {
 public:
  virtual ~PeerLinks() = default;
  virtual std::unique_ptr<Transfer> send(int peer, const void* data, std::size_t bytes, int tag) = 0;
  virtual std::unique_ptr<Transfer> receive(int peer, void* data, std::size_t bytes, int tag) = 0;
  virtual void set_timeout(std::chrono::milliseconds timeout) = 0;
  // Makes send() and receive() throw where they wait. Transfers that have begun are aborted one by one.
  virtual void abort() noexcept {}
};

}  // namespace d9d::comm
