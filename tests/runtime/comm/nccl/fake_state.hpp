#pragma once
// The state of FakeNccl, which its functions work on.

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "tests/runtime/comm/nccl/fake_nccl.hpp"
#include "tests/runtime/comm/nccl/fake_types.hpp"

namespace d9d::nccl {

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
