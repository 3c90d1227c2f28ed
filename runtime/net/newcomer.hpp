#pragma once
// A connection that has not yet said what it is for. Never waits:
// step() goes as far as the bytes that have arrived allow.

#include "runtime/net/channel.hpp"
#include "runtime/net/hello.hpp"

namespace d9d::net {

class Newcomer {
 public:
  Newcomer(Fd socket, const Tls* tls, Deadline deadline);

  enum class State { reads, writes, ready, failed };
  // ready: hello() is whole. failed: why() says it, empty when he left without a word.
  State step();

  int fd() const { return fd_; }
  const std::string& peer() const { return peer_; }
  Deadline deadline() const { return deadline_; }
  const Hello& hello() const { return hello_; }
  const std::string& why() const { return why_; }
  // To one who is ready. Null when he is gone.
  std::unique_ptr<Channel> answer(const Answer& answer);

 private:
  State begin();
  State refuse_plainly(const std::string& why, const std::string& told);
  State read_frame();
  State fail(std::string why);
  void let_go();

  const Tls* const tls_;
  const Deadline deadline_;
  Fd socket_;  // until his first bytes are there
  const int fd_;
  const std::string peer_;
  std::unique_ptr<Channel> channel_;
  bool hands_shaken_ = false;
  std::vector<std::byte> frame_;
  std::size_t got_ = 0;
  Hello hello_;
  std::string why_;
};

}  // namespace d9d::net
