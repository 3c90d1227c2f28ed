#include <ATen/ops/empty.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "runtime/comm/reduce.hpp"
#include "runtime/devices/delayed/device_time.hpp"
#include "runtime/devices/delayed/nccl/collective_part.hpp"
#include "runtime/devices/delayed/nccl/emulated_across.hpp"

namespace d9d::nccl {
// By rank: its part, that its stream has come to the collective, and that it has read all parts.
struct EmulatedCollective {
  std::vector<CollectivePart> parts;
  std::vector<std::shared_ptr<delayed::Mark>> arrived, finished;
};

namespace {

const char* at(const void* data, std::size_t bytes) {
  return static_cast<const char*>(data) + bytes;
}

// What rank `rank` gets, in memory of the host: others still read where it goes.
at::Tensor result_of(const CommGroup& group, const EmulatedCollective& collective, int rank) {
  const CollectivePart& own = collective.parts[static_cast<std::size_t>(rank)];
  const auto size = collective.parts.size();
  const bool gathers = own.kind == CollectivePart::Kind::all_gather;
  const auto count = static_cast<std::int64_t>(gathers ? own.count * size : own.count);
  at::Tensor result = at::empty({count}, own.type);
  auto* const data = static_cast<char*>(result.mutable_data_ptr());
  std::vector<std::unique_ptr<delayed::OpenMemory>> open;
  for (const int device : group.devices)
    open.push_back(std::make_unique<delayed::OpenMemory>(delayed::machine(device).memory()));
  if (gathers || own.kind == CollectivePart::Kind::broadcast) {
    const std::size_t first = gathers ? 0 : static_cast<std::size_t>(own.root);
    const std::size_t end = gathers ? size : first + 1;
    for (std::size_t from = first; from < end && bytes_of(own) > 0; ++from)
      std::memcpy(data + (from - first) * bytes_of(own), collective.parts[from].in, bytes_of(own));
    return result;
  }
  const bool scatters = own.kind == CollectivePart::Kind::reduce_scatter;
  std::vector<const void*> sources;
  for (const CollectivePart& part : collective.parts)
    sources.push_back(at(part.in, scatters ? static_cast<std::size_t>(rank) * bytes_of(own) : 0));
  void* const target = data;
  comm::reduce(own.type, own.op, sources, {&target, 1}, count);
  return result;
}

std::shared_ptr<EmulatedCollective> join(EmulatedComm& comm, const CollectivePart& part) {
  CommGroup& group = *comm.group;
  const std::lock_guard lock(group.mutex);
  std::erase_if(group.collectives, [](const auto& entry) { return entry.second.expired(); });
  auto& entry = group.collectives[comm.collectives++];
  std::shared_ptr<EmulatedCollective> collective = entry.lock();
  if (!collective) {
    collective = std::make_shared<EmulatedCollective>();
    collective->parts.resize(group.devices.size());
    for (int rank = 0; rank < group.size(); ++rank) {
      collective->arrived.push_back(group.mark_of(rank));
      collective->finished.push_back(group.mark_of(rank));
    }
    entry = collective;
  }
  collective->parts[static_cast<std::size_t>(comm.rank)] = part;
  return collective;
}

int launch(const CollectivePart& part, Comm handle, Stream on) {
  EmulatedComm& comm = comm_of(handle);
  const auto& stream = *static_cast<const EmulatedStream*>(on);
  if (fails_here(comm, stream)) return success;
  if (comm.across) {
    comm.across->launch(part, comm.collectives++, stream, comm.ended);
    return success;
  }
  delayed::Machine& machine = stream.machine();
  const std::shared_ptr<EmulatedCollective> collective = join(comm, part);
  const auto rank = static_cast<std::size_t>(comm.rank);
  const auto result = std::make_shared<at::Tensor>();
  machine.enqueue(stream.number, touched_by(part, collective->parts.size()),
                  [collective, rank, ended = comm.ended] {
                    if (!*ended) collective->arrived[rank]->set(delayed::end_of_this_piece());
                  });
  for (const std::shared_ptr<delayed::Mark>& arrived : collective->arrived)
    machine.hold(stream.number, arrived, comm.ended);
  machine.enqueue(stream.number, [collective, rank, result, group = comm.group, ended = comm.ended] {
    const auto& parts = collective->parts;
    const auto matches = [&](const CollectivePart& other) { return same_call(other, parts[rank]); };
    if (*ended || !std::all_of(parts.begin(), parts.end(), matches)) return;
    *result = result_of(*group, *collective, static_cast<int>(rank));
    collective->finished[rank]->set(delayed::end_of_this_piece());
  });
  for (const std::shared_ptr<delayed::Mark>& finished : collective->finished)
    machine.hold(stream.number, finished, comm.ended);
  machine.enqueue(stream.number, [out = part.out, result, ended = comm.ended] {
    if (!*ended && result->nbytes() > 0) std::memcpy(out, result->const_data_ptr(), result->nbytes());
    result->reset();
  });
  return success;
}

}  // namespace

delayed::Touched touched_by(const CollectivePart& part, std::size_t ranks) {
  using Kind = CollectivePart::Kind;
  constexpr std::array<const char*, 4> names{"ncclAllReduce", "ncclReduceScatter", "ncclAllGather",
                                             "ncclBroadcast"};
  const std::size_t bytes = bytes_of(part);
  return {names[static_cast<std::size_t>(part.kind)],
          {touch_of(part.in, part.kind == Kind::reduce_scatter ? ranks * bytes : bytes, false),
           touch_of(part.out, part.kind == Kind::all_gather ? ranks * bytes : bytes, true)},
          /*exchanges=*/true};
}

void fill_collectives(Api& api) {
  fill_collectives<launch>(api);
}

}  // namespace d9d::nccl
