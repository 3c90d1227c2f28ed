#pragma once
// A connection whose bytes are plain or under TLS; the user does not see which. Calls never wait and are not
// thread-safe. The two ends of a TLS channel first shake hands(). No OpenSSL in this header.

#include <sys/uio.h>

#include <cerrno>
#include <cstddef>
#include <memory>
#include <string>

#include "runtime/net/address.hpp"
#include "runtime/net/tls.hpp"

namespace d9d::net {

enum class Io {
  done,    // some bytes moved, or the hands are shaken
  reads,   // nothing now: ask again when the socket is readable
  writes,  // nothing now: ask again when it is writable
  failed,  // for good; failure() says why
};

enum class Side { dials, accepts };

// Whether a call on a socket that failed with `error` (an errno) may succeed later.
inline bool try_again(int error) {
  return error == EAGAIN || error == EWOULDBLOCK || error == EINTR;
}

class Channel {
 public:
  virtual ~Channel() = default;

  virtual Io shake_hands() = 0;
  // Up to `bytes`; the end of the stream is a failure.
  virtual Io read(void* data, std::size_t bytes, std::size_t& got) = 0;
  virtual Io write(const iovec* parts, int num_parts, std::size_t& sent) = 0;
  // Bytes that were taken from the socket and not yet read: poll() knows nothing of them.
  virtual bool hides_bytes() const = 0;
  // Under TLS: bytes that both ends of this connection have in common with no other one. Plain: none.
  virtual std::string binding() const { return {}; }

  // For large messages: takes and gives many records in one call of the system.
  // From here on what write() took is on its way only when flush() is done.
  virtual void expect_much() {}
  virtual Io flush() { return Io::done; }

  const std::string& failure() const { return failure_; }
  int fd() const { return number_; }
  // The caller then closes the socket; the channel stays usable until then.
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

// `tls` null: plain.
std::unique_ptr<Channel> make_channel(Fd socket, const Tls* tls, Side side);

// Wait, at most until the deadline, for all of it. False:
// see failure() of the channel, empty at the deadline.
bool shake_hands_fully(Channel& channel, Deadline deadline, int cancel = -1);
bool read_fully(Channel& channel, void* data, std::size_t bytes, Deadline deadline, int cancel = -1);
bool write_fully(Channel& channel, const void* data, std::size_t bytes, Deadline deadline, int cancel = -1);

}  // namespace d9d::net
