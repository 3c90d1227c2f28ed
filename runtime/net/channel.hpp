#pragma once
// A connection, plain or under TLS; its user does not see which. Calls never wait and are not thread-safe.
// Both ends of a TLS channel must first complete shake_hands(). No OpenSSL in this header.

#include <sys/uio.h>

#include <cerrno>
#include <cstddef>
#include <memory>
#include <string>

#include "runtime/net/address.hpp"
#include "runtime/net/tls.hpp"

namespace d9d::net {

enum class Io {
  done,    // some bytes moved, or the handshake is complete
  reads,   // nothing moved: call again when the socket is readable
  writes,  // nothing moved: call again when the socket is writable
  failed,  // the connection has failed; failure() says why
};

enum class Side { dials, accepts };

// Returns whether a socket call that failed with `error` (an errno) may succeed later.
inline bool try_again(int error) {
  return error == EAGAIN || error == EWOULDBLOCK || error == EINTR;
}

class Channel {
 public:
  virtual ~Channel() = default;

  virtual Io shake_hands() = 0;
  // Reads at most `bytes`. The end of the stream is a failure.
  virtual Io read(void* data, std::size_t bytes, std::size_t& got) = 0;
  virtual Io write(const iovec* parts, int num_parts, std::size_t& sent) = 0;
  // Whether there are bytes to read that are no longer in the socket, so that poll() does not report them.
  virtual bool hides_bytes() const = 0;
  // Under TLS: bytes that only the two ends of this connection have. Plain: empty.
  virtual std::string binding() const { return {}; }

  // Prepares for large messages: reads and writes several TLS records in one system call. From then on
  // written bytes may wait in a buffer until flush() is done.
  virtual void expect_much() {}
  virtual Io flush() { return Io::done; }

  const std::string& failure() const { return failure_; }
  int fd() const { return number_; }
  // Makes the caller the owner of the socket. The channel stays usable until the caller closes it.
  int release_fd() { return socket_.release(); }

 protected:
  explicit Channel(Fd socket) : socket_(std::move(socket)), number_(socket_.get()) {}
  Io fail(std::string why) {
    failure_ = std::move(why);
    return Io::failed;
  }

 private:
  Fd socket_;
  const int number_;
  std::string failure_;
};

// Makes a channel of a connected socket. `tls` null: plain.
std::unique_ptr<Channel> make_channel(Fd socket, const Tls* tls, Side side);

// Wait until all bytes have moved, at most until the deadline or until `cancel` is readable. Return false
// otherwise: failure() of the channel then says why, and is empty after the deadline.
bool shake_hands_fully(Channel& channel, Deadline deadline, int cancel = -1);
bool read_fully(Channel& channel, void* data, std::size_t bytes, Deadline deadline, int cancel = -1);
bool write_fully(Channel& channel, const void* data, std::size_t bytes, Deadline deadline, int cancel = -1);

}  // namespace d9d::net
