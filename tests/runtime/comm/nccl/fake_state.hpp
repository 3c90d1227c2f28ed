#pragma once
// The state of FakeNccl, which its functions work on: streams, events, communicators and messages.

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include "runtime/devices/delayed/nccl/collective_part.hpp"
#include "tests/runtime/comm/nccl/fake_nccl.hpp"

namespace d9d::nccl {
namespace fake {

constexpr int internal_error = 3, invalid_argument = 4;

struct FakeEvent {
  std::uint64_t recorded = 0, done = 0;
};

struct FakeStream {
  int device = 0;
  bool held = false, ends = false;
  std::deque<std::function<void()>> work;
  bool busy = false;
  std::thread thread;
};

struct Meeting {
  std::map<int, CollectivePart> parts;
  bool done = false;
};
struct Message {
  const void* from = nullptr;
  void* to = nullptr;
  std::size_t bytes_sent = 0, bytes_taken = 0;
  bool done = false;
};
struct FakeGroup {
  int size = 0;
  int arrived = 0;
  std::map<int, int> devices;  // by rank
  std::map<std::uint64_t, Meeting> meetings;
  std::map<std::pair<int, int>, std::map<std::uint64_t, Message>> messages;  // by sender and receiver
};
struct FakeComm {
  std::shared_ptr<FakeGroup> group;
  int rank = 0, device = 0;
  bool aborted = false;
  int error = success;
  std::uint64_t collectives = 0;
  std::map<int, std::uint64_t> sent, received;  // by peer
};
struct Post {
  bool sends = false;
  int peer = 0;
  const void* from = nullptr;
  void* to = nullptr;
  std::size_t bytes = 0;
  std::uint64_t number = 0;
};
using CommPtr = std::shared_ptr<FakeComm>;

}  // namespace fake

struct FakeNccl::State {
  std::mutex mutex;
  std::condition_variable changed;
  std::map<Comm, fake::CommPtr> comms;
  std::set<fake::FakeStream*> streams;
  std::set<fake::FakeEvent*> live_events;
  std::map<int, fake::FakeStream*> compute;
  std::map<std::string, std::shared_ptr<fake::FakeGroup>> groups;
  std::map<int, std::uint64_t> tickets, turn;  // of launches, by device
  std::map<int, int> failing;                  // launches that are left until one fails
  std::set<int> stalled;
  std::set<std::thread::id> enders;  // of communicators
  bool over = false, holds_aborts = false;
  std::uint64_t ids = 0;

  fake::FakeStream* open_stream(int device);
  void close_stream(fake::FakeStream* stream);
  fake::CommPtr find(Comm comm);
  int enqueue(const fake::CommPtr& comm, Stream stream, std::function<bool()> try_it);
};

namespace fake {

// Of the FakeNccl that lives now.
FakeNccl::State& state();
// The device of the calling thread.
int& device_of_thread();
void fill_streams(Api& api);
void fill_communicators(Api& api);

}  // namespace fake
}  // namespace d9d::nccl
