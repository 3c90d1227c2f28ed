#pragma once
// A communicator of the emulated table (emulated.hpp), for the files of that table.

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "runtime/devices/delayed/nccl/collective_part.hpp"
#include "runtime/devices/delayed/nccl/emulated_streams.hpp"

namespace d9d::nccl {

class EmulatedAcross;
struct EmulatedCollective;
struct EmulatedMessage;

struct CommGroup {
  std::mutex mutex;
  int arrived = 0;
  std::vector<int> devices;  // by rank
  std::map<std::uint64_t, std::weak_ptr<EmulatedCollective>> collectives;
  std::map<std::pair<int, int>, std::map<std::uint64_t, std::weak_ptr<EmulatedMessage>>>
      messages;  // by their ranks

  int size() const { return static_cast<int>(devices.size()); }
  bool whole() const { return arrived == size(); }
  // NCCL has no communicator with two ranks on one GPU.
  bool shares_a_device() const {
    const std::set<int> different(devices.begin(), devices.end());
    return different.size() < devices.size();
  }
  std::shared_ptr<delayed::Mark> mark_of(int rank) const {
    delayed::Machine& machine = delayed::machine(devices[static_cast<std::size_t>(rank)]);
    return std::make_shared<delayed::Mark>(machine, delayed::collective_stream);
  }
};

struct EmulatedComm {
  std::shared_ptr<CommGroup> group;  // of several processes: of this member alone
  int rank = 0;
  std::shared_ptr<EmulatedAcross> across = {};  // of several processes: emulated_across.hpp
  // Destroyed or aborted: its work does nothing more and does not wait.
  const std::shared_ptr<std::atomic<bool>> ended = std::make_shared<std::atomic<bool>>(false);
  std::atomic<int> error = success;
  std::uint64_t collectives = 0;
  std::map<int, std::uint64_t> sent, received;  // by peer
};

inline EmulatedComm& comm_of(Comm comm) {
  return *static_cast<EmulatedComm*>(comm);
}

inline delayed::Touch touch_of(const void* data, std::size_t bytes, bool writes) {
  const auto begin = reinterpret_cast<std::uintptr_t>(data);
  return {begin, begin + bytes, writes};
}

// What a rank of a group of `ranks` reads and writes.
delayed::Touched touched_by(const CollectivePart& part, std::size_t ranks);

// Whether the planted fault is at this launch, which then never ends.
bool fails_here(EmulatedComm& comm, const EmulatedStream& stream);

// Each puts its functions into the table.
void fill_collectives(Api& api);
void fill_messages(Api& api);

}  // namespace d9d::nccl
