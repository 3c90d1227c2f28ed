#pragma once
// The connections that bring messages of other processes. Each has its own number. A process that
// has dialled this one and is not a member of the job yet may only say Join. One list per process,
// in its world. Thread-safe.

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

namespace d9d {

class Connection {
 public:
  Connection(std::uint64_t number, bool member) : number_(number), member_(member) {}
  std::uint64_t number() const { return number_; }
  bool is_member() const { return member_.load(std::memory_order_relaxed); }
  void admit() { member_ = true; }

 private:
  const std::uint64_t number_;  // from 1; 0 stands for messages from this process
  std::atomic<bool> member_;
};

class Connections {
 public:
  // `member`: the other side has proved that it is a member, or this process has dialled it.
  std::shared_ptr<Connection> open(bool member);
  // Accepts all messages of the connection from now on. No effect on a connection that is gone, and on 0.
  void admit(std::uint64_t number);
  // How many connections are open and not admitted.
  std::size_t num_joining();

 private:
  void forget_gone();

  std::mutex mutex_;
  std::uint64_t last_ = 0;
  std::map<std::uint64_t, std::weak_ptr<Connection>> joining_;  // not admitted yet
};

}  // namespace d9d
