#pragma once
// A connection that has not yet said what it is for, or not proved that it knows the job's secret. Never waits:
// step() goes as far as the bytes that have arrived allow.

#include <optional>

#include "runtime/net/channel.hpp"
#include "runtime/net/hello.hpp"
#include "runtime/net/secrets.hpp"

namespace d9d::net {

class Newcomer {
 public:
  // Both outlive it.
  Newcomer(Fd socket, const Tls* tls, const Secrets& secrets, Deadline deadline);

  enum class State { reads, writes, ready, failed };
  // ready: it is to be told refusal(), or it has proved its hello().
  // failed: why() says it, empty when it left without a word.
  State step();

  int fd() const { return fd_; }
  const std::string& peer() const { return peer_; }
  Deadline deadline() const { return deadline_; }
  const Hello& hello() const { return hello_; }
  const std::optional<Answer>& refusal() const { return refusal_; }
  const std::string& why() const { return why_; }
  // To one that is ready; with a yes this side's proof. Null when it is gone.
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
  Fd socket_;  // until his first bytes are there
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
