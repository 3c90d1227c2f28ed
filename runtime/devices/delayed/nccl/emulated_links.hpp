#pragma once
// Connections between the members of an emulated communicator in several processes of this host: a Unix socket for each
// pair of them, found by the communicator's id, as NCCL's own id names a socket that listens.

#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>

#include "runtime/devices/delayed/nccl/collective_part.hpp"
#include "runtime/net/fd.hpp"

namespace d9d::nccl {

// What a member tells another one when its stream has come to a launch.
struct EmulatedFrame {
  enum class Kind { part, message, wanted, taken };
  // Of a part: counts collectives; else messages of one direction between two members.
  struct Key {
    Kind kind = Kind::part;
    int peer = 0;  // who tells it
    std::uint64_t number = 0;
    auto operator<=>(const Key&) const = default;
  } key;
  CollectivePart part = {};  // of a part
  std::string bytes = {};    // of a part and of a message
};

class EmulatedLinks {
 public:
  struct Calls {  // on the thread of the links
    std::function<void(EmulatedFrame)> came;
    std::function<void(int peer)> gone;
    // Lets the device work where others wait for it; whether somebody still does.
    std::function<bool()> work;
  };
  // `name` is the same on all members. Returns at once; the members meet meanwhile.
  EmulatedLinks(const std::string& name, int size, int rank, Calls calls);
  ~EmulatedLinks();
  EmulatedLinks(const EmulatedLinks&) = delete;
  EmulatedLinks& operator=(const EmulatedLinks&) = delete;

  bool whole() const;  // all have come
  // Any thread; returns at once. The frame's peer is who gets it; nothing happens if that one is gone.
  void send(EmulatedFrame frame);
  void wake();
  // Afterwards nothing is called. `delivered`: what was sent gets there first, if it can within seconds.
  void close(bool delivered);

 private:
  struct Link {
    net::Fd socket;
    bool gone = false;
    std::string read;               // no whole frame yet
    std::deque<std::string> queue;  // to be written
    std::size_t written = 0;        // of the first
  };

  std::string path_of(int rank) const;
  void run();
  bool ending() const;
  bool ends();
  void meet();
  void dial(int peer);
  void accept_one();
  void add(int peer, net::Fd socket);
  void wait(int patience_ms);
  void read_from(int peer);
  void write_to(Link& link);
  void cut_frames(int peer);

  const std::string name_;
  const int size_;
  const int rank_;
  const Calls calls_;
  const net::Fd wake_;
  net::Fd listener_;
  mutable std::mutex mutex_;
  std::map<int, Link> links_;  // by peer; of the thread, but for what is sent
  enum class Ending { none, delivered, now } ending_ = Ending::none;
  std::chrono::steady_clock::time_point ends_at_{};
  std::thread thread_;
};

}  // namespace d9d::nccl
