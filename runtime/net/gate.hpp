#pragma once
// The one port of a process. A connection authenticates itself (by TLS, if the job has it), says what it is for,
// proves that it knows the job's secret, and is handed to the taker of such connections. Strangers get no further: a
// connection that does not finish in time is closed, and so is the oldest of too many; a lack of descriptors makes the
// gate wait. Has a thread.

#include <array>
#include <list>
#include <map>
#include <mutex>
#include <thread>

#include "runtime/net/complaints.hpp"
#include "runtime/net/newcomer.hpp"
#include "runtime/net/secrets.hpp"

namespace d9d::net {

// Called on the gate's thread, and not after remove_taker()
// has returned. Does not wait, and does not call the gate.
class Taker {
 public:
  virtual ~Taker() = default;
  virtual Answer ask(const Hello& hello) = 0;
  // After a yes, which the other side has been told.
  virtual void take(std::unique_ptr<Channel> channel, const Hello& hello) = 0;
};

struct GateOptions {
  std::chrono::milliseconds patience{10'000};  // for all of a newcomer's first words
  std::size_t newcomers_max = 128;
  Secret secret{};                 // of the job
  bool awaits_membership = false;  // see Secrets
  bool takes_joins = true;         // of node 0
};

class Gate {
 public:
  // `tls` null: plain.
  explicit Gate(std::shared_ptr<const Tls> tls = nullptr, GateOptions options = {});
  ~Gate();

  // Environment error when that is not possible. Returns the port, also when it was 0. Once.
  std::uint16_t listen(const std::string& host, std::uint16_t port);
  void set_taker(Purpose purpose, Taker* taker);
  void remove_taker(Purpose purpose, const Taker* taker);

  const Tls* tls() const { return tls_.get(); }
  // Also for the connections that this process dials.
  Secrets& secrets() { return secrets_; }
  std::uint16_t port() const { return port_; }

 private:
  using Newcomers = std::list<Newcomer>;

  void run();
  void accept_all();
  bool accept_one();
  void make_room(int error);
  void serve_or_drop(Newcomers::iterator who);
  void serve(Newcomers::iterator who);
  void hand_over(Newcomers::iterator who);
  Answer answer_to(const Newcomer& who, Taker* taker) const;
  void complain(const Newcomer& who, const std::string& why);  // nothing without a reason
  void leave(const Newcomer& who);                             // it is watched no more
  void drop(Newcomers::iterator who, const std::string& why);
  void drop_late();
  int next_wait_ms() const;
  void watch(int fd, unsigned events, int operation);

  const std::shared_ptr<const Tls> tls_;
  const GateOptions options_;
  Secrets secrets_;
  Fd listener_, epoll_, stop_;
  std::uint16_t port_ = 0;
  bool paused_ = false;  // the listener: no descriptors were left
  Deadline resume_;
  Newcomers newcomers_;  // oldest first
  std::map<int, Newcomers::iterator> by_fd_;
  Complaints complaints_;
  std::mutex takers_mutex_;
  std::array<Taker*, 4> takers_{};  // by purpose
  std::thread thread_;
};

}  // namespace d9d::net
