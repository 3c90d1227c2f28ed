#pragma once
// The one port of a process. A new connection authenticates itself (by TLS, if the job has it), says its
// purpose, proves that it knows the job's secret, and is handed to the taker for this purpose. The gate
// closes connections that do not finish this in time, and the oldest one when there are too many. Without
// free descriptors it accepts nothing for a moment. It has a thread of its own.

#include <array>
#include <chrono>
#include <list>
#include <map>
#include <mutex>
#include <string>
#include <thread>

#include "runtime/net/newcomer.hpp"
#include "runtime/net/secrets.hpp"

namespace d9d::net {

class Complaints {
 public:
  void add(const std::string& text);

 private:
  std::chrono::steady_clock::time_point since_{};
  int written_ = 0;
  int counted_ = 0;
};

// The receiver of connections of one purpose. Called on the gate's thread, never after remove_taker() has
// returned. Must not wait and must not call the gate.
class Taker {
 public:
  virtual ~Taker() = default;
  // Decides about a connection that has proved the secret.
  virtual Answer ask(const Hello& hello) = 0;
  // Receives the connection after a yes, which has been sent to the other side.
  virtual void take(std::unique_ptr<Channel> channel, const Hello& hello) = 0;
};

struct GateOptions {
  std::chrono::milliseconds patience{10'000};  // until a newcomer has proved itself
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

  // Listens and returns the port, which the system chooses for port 0. Environment error if that is not
  // possible. Call it once.
  std::uint16_t listen(const std::string& host, std::uint16_t port);
  void set_taker(Purpose purpose, Taker* taker);
  void remove_taker(Purpose purpose, const Taker* taker);

  const Tls* tls() const { return tls_.get(); }
  // The secrets of this process, also for the connections that it dials.
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
  void complain(const Newcomer& who, const std::string& why);  // does nothing for an empty reason
  void leave(const Newcomer& who);                             // ends the watch of its descriptor
  void drop(Newcomers::iterator who, const std::string& why);
  void drop_late();
  int next_wait_ms() const;
  void watch(int fd, unsigned events, int operation);

  const std::shared_ptr<const Tls> tls_;
  const GateOptions options_;
  Secrets secrets_;
  Fd listener_, epoll_, stop_;
  std::uint16_t port_ = 0;
  bool paused_ = false;  // accepts nothing until resume_, because no descriptors were left
  Deadline resume_;
  Newcomers newcomers_;  // oldest first
  std::map<int, Newcomers::iterator> by_fd_;
  Complaints complaints_;
  std::mutex takers_mutex_;
  std::array<Taker*, 4> takers_{};  // by purpose
  std::thread thread_;
};

}  // namespace d9d::net
