#pragma once
// The connections that bring messages of other processes. Each has a number of its own. A process that has dialled this
// one and is no member of the job may say Join and nothing else. One list per process, in its world.
// Thread-safe.

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
  const std::uint64_t number_;  // from 1: 0 is a message that was told in this process
  std::atomic<bool> member_;
};

class Connections {
 public:
  // `member`: it has proved that it is one, or this process has chosen and dialled it.
  std::shared_ptr<Connection> open(bool member);
  // What it says counts from here on. Nothing for one that is gone, and for 0.
  void admit(std::uint64_t number);
  // Those that are there and have not been admitted.
  std::size_t num_joining();

 private:
  void forget_gone();

  std::mutex mutex_;
  std::uint64_t last_ = 0;
  std::map<std::uint64_t, std::weak_ptr<Connection>> joining_;  // those that may yet be admitted
};

}  // namespace d9d
