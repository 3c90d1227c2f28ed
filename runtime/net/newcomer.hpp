#pragma once
// A connection that has not yet said its purpose or not yet proved that it knows the job's secret. Never
// waits: step() goes as far as the bytes that have arrived allow.

#include <optional>

#include "runtime/net/channel.hpp"
#include "runtime/net/hello.hpp"
#include "runtime/net/secrets.hpp"

namespace d9d::net {

class Newcomer {
 public:
  // `tls` (null: plain) and `secrets` must outlive the newcomer.
  Newcomer(Fd socket, const Tls* tls, const Secrets& secrets, Deadline deadline);

  enum class State { reads, writes, ready, failed };
  // reads, writes: call step() again when the descriptor is readable or writable.
  // ready: it has proved its hello(), or refusal() is set. Call answer() in both cases.
  // failed: why() says why, and is empty if it closed the connection before it sent anything.
  State step();

  int fd() const { return fd_; }
  const std::string& peer() const { return peer_; }
  Deadline deadline() const { return deadline_; }
  const Hello& hello() const { return hello_; }
  const std::optional<Answer>& refusal() const { return refusal_; }
  const std::string& why() const { return why_; }
  // Sends the answer to a newcomer that is ready, with this side's proof after a yes. Returns its channel,
  // or null if it is gone.
  std::unique_ptr<Channel> answer(const Answer& answer);

 private:
  State begin();
  State refuse_plainly(const std::string& why, const std::string& told);
  enum class Awaited { hello, proof, nothing };
  State read_frame();
  std::optional<std::size_t> body_bytes() const;
  State hear();
  State hear_hello(const std::vector<std::byte>& body);
  State refuse(Answer answer);
  bool say(const std::string& frame);
  State fail(std::string why);
  void let_go();

  const Tls* const tls_;
  const Secrets& secrets_;
  const Deadline deadline_;
  Fd socket_;  // until the first bytes have come and channel_ owns it
  const int fd_;
  const std::string peer_;
  std::unique_ptr<Channel> channel_;
  bool hands_shaken_ = false;
  std::vector<std::byte> frame_;
  std::size_t got_ = 0;
  Awaited awaited_ = Awaited::hello;
  Hello hello_;
  Key key_{};
  Said said_;
  std::optional<Answer> refusal_;
  std::string why_;
};

}  // namespace d9d::net
