#include "runtime/comm/nccl/emulated.hpp"

#include <ATen/ops/empty.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <sstream>
#include <string>

#include "runtime/base/error.hpp"
#include "runtime/comm/nccl/emulated_streams.hpp"
#include "runtime/comm/reduce.hpp"

namespace d9d::nccl {
namespace {

using delayed::Machine;
using delayed::Mark;
using MarkPtr = std::shared_ptr<Mark>;

constexpr int internal_error = 3;

delayed::Touch touch_of(const void* data, std::size_t bytes, bool writes) {
  const auto begin = reinterpret_cast<std::uintptr_t>(data);
  return {begin, begin + bytes, writes};
}

// Of one rank in a collective.
struct Part {
  enum class Kind { all_reduce, reduce_scatter, all_gather, broadcast } kind = Kind::all_reduce;
  const void* in = nullptr;
  void* out = nullptr;
  std::size_t count = 0;  // of all_gather what comes in, of reduce_scatter what goes out
  c10::ScalarType type = c10::ScalarType::Byte;
  ReduceOp op = ReduceOp::sum;
  int root = 0;

  std::size_t bytes() const { return count * c10::elementSize(type); }
  // By a rank of a group of `ranks`.
  delayed::Touched touched(std::size_t ranks) const {
    constexpr std::array<const char*, 4> names{"ncclAllReduce", "ncclReduceScatter", "ncclAllGather",
                                               "ncclBroadcast"};
    const std::size_t in_bytes = kind == Kind::reduce_scatter ? ranks * bytes() : bytes();
    const std::size_t out_bytes = kind == Kind::all_gather ? ranks * bytes() : bytes();
    return {names[static_cast<std::size_t>(kind)],
            {touch_of(in, in_bytes, false), touch_of(out, out_bytes, true)}};
  }
  bool same_call(const Part& other) const {
    return kind == other.kind && count == other.count && type == other.type && op == other.op &&
           root == other.root;
  }
};

// By rank: its part, that its stream has come to the collective, and that it has read all parts.
struct Collective {
  std::vector<Part> parts;
  std::vector<MarkPtr> arrived, finished;
};

struct Message {
  const void* from = nullptr;
  void* to = nullptr;
  std::size_t bytes_sent = 0, bytes_taken = 0;
  MarkPtr ready, taken;
};

struct CommGroup {
  std::mutex mutex;
  int arrived = 0;
  std::vector<int> devices;  // by rank
  std::map<std::uint64_t, std::weak_ptr<Collective>> collectives;
  std::map<std::pair<int, int>, std::map<std::uint64_t, std::weak_ptr<Message>>> messages;  // by their ranks

  int size() const { return static_cast<int>(devices.size()); }
  bool whole() const { return arrived == size(); }
  MarkPtr mark_of(int rank) const {
    Machine& machine = delayed::machine(devices[static_cast<std::size_t>(rank)]);
    return std::make_shared<Mark>(machine, delayed::collective_stream);
  }
};

struct EmulatedComm {
  std::shared_ptr<CommGroup> group;
  int rank = 0;
  // Destroyed or aborted: its work does nothing more and waits for nobody.
  const std::shared_ptr<std::atomic<bool>> ended = std::make_shared<std::atomic<bool>>(false);
  std::atomic<int> error = success;
  std::uint64_t collectives = 0;
  std::map<int, std::uint64_t> sent, received;  // by peer
};

struct Emulation {
  std::mutex mutex;
  std::map<std::string, std::shared_ptr<CommGroup>> opening;  // by id
  std::uint64_t ids = 0;
  std::optional<EmulatedFault> fault;
};

std::optional<EmulatedFault> fault_of_process() {
  const char* const given = std::getenv("D9D_NCCL_FAULT");
  if (given == nullptr || *given == '\0') return std::nullopt;
  std::istringstream text(given);
  std::string kind;
  EmulatedFault fault;
  char colon = 0;
  std::getline(text, kind, ':');
  text >> fault.device >> colon >> fault.launch;
  D9D_REQUIRE(!text.fail() && colon == ':' && text.eof() && (kind == "hang" || kind == "error"),
              "D9D_NCCL_FAULT is \"{}\", expected hang:DEVICE:LAUNCH or error:DEVICE:LAUNCH", given);
  fault.kind = kind == "hang" ? EmulatedFault::Kind::hang : EmulatedFault::Kind::error;
  return fault;
}

Emulation& emulation() {
  static const auto of_process = [] {
    auto made = std::make_unique<Emulation>();
    made->fault = fault_of_process();
    return made;
  }();
  return *of_process;
}

EmulatedComm& comm_of(Comm comm) {
  return *static_cast<EmulatedComm*>(comm);
}

// Whether the fault is at this launch, which then never ends.
bool fails_here(EmulatedComm& comm, const EmulatedStream& stream) {
  const std::lock_guard lock(emulation().mutex);
  auto& fault = emulation().fault;
  if (!fault || fault->device != stream.device || --fault->launch > 0) return false;
  if (fault->kind == EmulatedFault::Kind::error) comm.error = internal_error;
  fault.reset();
  stream.machine().hold(stream.number, comm.group->mark_of(comm.rank), comm.ended);
  return true;
}

const char* at(const void* data, std::size_t bytes) {
  return static_cast<const char*>(data) + bytes;
}

// What rank `rank` gets, in memory of the host: others still read where it goes.
at::Tensor result_of(const CommGroup& group, const Collective& collective, int rank) {
  const Part& own = collective.parts[static_cast<std::size_t>(rank)];
  const auto size = collective.parts.size();
  const bool gathers = own.kind == Part::Kind::all_gather;
  const auto count = static_cast<std::int64_t>(gathers ? own.count * size : own.count);
  at::Tensor result = at::empty({count}, own.type);
  auto* const data = static_cast<char*>(result.mutable_data_ptr());
  std::vector<std::unique_ptr<delayed::OpenMemory>> open;
  for (const int device : group.devices)
    open.push_back(std::make_unique<delayed::OpenMemory>(delayed::machine(device).memory()));
  if (gathers || own.kind == Part::Kind::broadcast) {
    const std::size_t first = gathers ? 0 : static_cast<std::size_t>(own.root);
    const std::size_t end = gathers ? size : first + 1;
    for (std::size_t from = first; from < end && own.bytes() > 0; ++from)
      std::memcpy(data + (from - first) * own.bytes(), collective.parts[from].in, own.bytes());
    return result;
  }
  const bool scatters = own.kind == Part::Kind::reduce_scatter;
  std::vector<const void*> sources;
  for (const Part& part : collective.parts)
    sources.push_back(at(part.in, scatters ? static_cast<std::size_t>(rank) * own.bytes() : 0));
  void* const target = data;
  comm::reduce(own.type, own.op, sources, {&target, 1}, count);
  return result;
}

std::shared_ptr<Collective> join(EmulatedComm& comm, const Part& part) {
  CommGroup& group = *comm.group;
  const std::lock_guard lock(group.mutex);
  std::erase_if(group.collectives, [](const auto& entry) { return entry.second.expired(); });
  auto& entry = group.collectives[comm.collectives++];
  std::shared_ptr<Collective> collective = entry.lock();
  if (!collective) {
    collective = std::make_shared<Collective>();
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

int launch(const Part& part, Comm handle, Stream on) {
  EmulatedComm& comm = comm_of(handle);
  const auto& stream = *static_cast<const EmulatedStream*>(on);
  if (fails_here(comm, stream)) return success;
  Machine& machine = stream.machine();
  const std::shared_ptr<Collective> collective = join(comm, part);
  const auto rank = static_cast<std::size_t>(comm.rank);
  const auto result = std::make_shared<at::Tensor>();
  machine.enqueue(stream.number, part.touched(collective->parts.size()),
                  [collective, rank, ended = comm.ended] {
                    if (!*ended) collective->arrived[rank]->set();
                  });
  for (const MarkPtr& arrived : collective->arrived) machine.hold(stream.number, arrived, comm.ended);
  machine.enqueue(stream.number, [collective, rank, result, group = comm.group, ended = comm.ended] {
    const auto& parts = collective->parts;
    const auto matches = [&](const Part& other) { return other.same_call(parts[rank]); };
    if (*ended || !std::all_of(parts.begin(), parts.end(), matches)) return;
    *result = result_of(*group, *collective, static_cast<int>(rank));
    collective->finished[rank]->set();
  });
  for (const MarkPtr& finished : collective->finished) machine.hold(stream.number, finished, comm.ended);
  machine.enqueue(stream.number, [out = part.out, result, ended = comm.ended] {
    if (!*ended && result->nbytes() > 0) std::memcpy(out, result->const_data_ptr(), result->nbytes());
    result->reset();
  });
  return success;
}

// What a thread has called since group_start().
struct Post {
  bool sends = false;
  int peer = 0;
  int device_of_sender = 0;
  std::size_t bytes = 0;
  std::shared_ptr<Message> message;
};
struct Batch {
  int depth = 0;
  std::vector<Post> posts;
  EmulatedComm* comm = nullptr;
  Stream stream = nullptr;
};
Batch& batch() {
  thread_local Batch of_thread;
  return of_thread;
}

int launch_batch() {
  EmulatedComm* const comm = std::exchange(batch().comm, nullptr);
  const std::vector<Post> posts = std::exchange(batch().posts, {});
  if (comm == nullptr) return success;
  const auto& stream = *static_cast<const EmulatedStream*>(batch().stream);
  if (fails_here(*comm, stream)) return success;
  Machine& machine = stream.machine();
  delayed::Touched touched{"ncclSend, ncclRecv"};
  for (const Post& post : posts)
    touched.memory.push_back(
        touch_of(post.sends ? post.message->from : post.message->to, post.bytes, !post.sends));
  machine.enqueue(stream.number, touched, [posts, ended = comm->ended] {
    for (const Post& post : posts)
      if (post.sends && !*ended) post.message->ready->set();
  });
  for (const Post& post : posts)
    if (!post.sends) machine.hold(stream.number, post.message->ready, comm->ended);
  machine.enqueue(stream.number, [posts, ended = comm->ended] {
    for (const Post& post : posts) {
      const Message& message = *post.message;
      if (post.sends || *ended || message.bytes_sent != message.bytes_taken) continue;
      const delayed::OpenMemory open(delayed::machine(post.device_of_sender).memory());
      if (message.bytes_sent > 0) std::memcpy(message.to, message.from, message.bytes_sent);
      message.taken->set();
    }
  });
  for (const Post& post : posts) machine.hold(stream.number, post.message->taken, comm->ended);
  return success;
}

int post_message(bool sends, const void* from, void* to, std::size_t bytes, int peer, Comm handle,
                 Stream stream) {
  EmulatedComm& comm = comm_of(handle);
  CommGroup& group = *comm.group;
  const int sender = sends ? comm.rank : peer, receiver = sends ? peer : comm.rank;
  {
    const std::lock_guard lock(group.mutex);
    auto& pair = group.messages[{sender, receiver}];
    std::erase_if(pair, [](const auto& entry) { return entry.second.expired(); });
    auto& entry = pair[sends ? comm.sent[peer]++ : comm.received[peer]++];
    std::shared_ptr<Message> message = entry.lock();
    if (!message)
      message = std::make_shared<Message>(
          Message{.ready = group.mark_of(sender), .taken = group.mark_of(receiver)});
    entry = message;
    (sends ? message->bytes_sent : message->bytes_taken) = bytes;
    if (sends) message->from = from;
    if (!sends) message->to = to;
    batch().posts.push_back(
        {sends, peer, group.devices[static_cast<std::size_t>(sender)], bytes, std::move(message)});
  }
  batch().comm = &comm;
  batch().stream = stream;
  return batch().depth > 0 ? success : launch_batch();
}

int init(Comm* handle, int size, const UniqueId& id, int rank) {
  const std::lock_guard lock(emulation().mutex);
  const std::string key(id.bytes.data(), id.bytes.size());
  auto& group = emulation().opening[key];
  if (!group) group = std::make_shared<CommGroup>();
  auto comm = std::make_unique<EmulatedComm>();
  comm->group = group;
  comm->rank = rank;
  const std::lock_guard inner(group->mutex);
  group->devices.resize(static_cast<std::size_t>(size));
  group->devices[static_cast<std::size_t>(rank)] = delayed::current().device;
  ++group->arrived;
  if (comm->group->whole()) emulation().opening.erase(key);
  *handle = comm.release();
  return in_progress;
}

int async_error(Comm handle, int* result) {
  EmulatedComm& comm = comm_of(handle);
  const std::lock_guard lock(comm.group->mutex);
  *result = comm.error;
  if (*result == success && !comm.group->whole()) *result = in_progress;
  return success;
}

int end(Comm handle) {
  *comm_of(handle).ended = true;
  delete static_cast<EmulatedComm*>(handle);
  return success;
}

void fill_collectives(Api& api) {
  using Kind = Part::Kind;
  api.all_reduce = [](void* data, std::size_t count, c10::ScalarType type, ReduceOp op, Comm comm,
                      Stream stream) {
    return launch({Kind::all_reduce, data, data, count, type, op}, comm, stream);
  };
  api.reduce_scatter = [](const void* in, void* out, std::size_t count, c10::ScalarType type, ReduceOp op,
                          Comm comm, Stream stream) {
    return launch({Kind::reduce_scatter, in, out, count, type, op}, comm, stream);
  };
  api.all_gather = [](const void* in, void* out, std::size_t count, c10::ScalarType type, Comm comm,
                      Stream stream) {
    return launch({Kind::all_gather, in, out, count, type}, comm, stream);
  };
  api.broadcast = [](void* data, std::size_t count, c10::ScalarType type, int root, Comm comm,
                     Stream stream) {
    return launch({Kind::broadcast, data, data, count, type, ReduceOp::sum, root}, comm, stream);
  };
  api.group_start = [] { return ++batch().depth, success; };
  api.group_end = [] { return --batch().depth > 0 ? success : launch_batch(); };
  api.send = [](const void* data, std::size_t count, c10::ScalarType type, int peer, Comm comm,
                Stream stream) {
    return post_message(true, data, nullptr, count * c10::elementSize(type), peer, comm, stream);
  };
  api.receive = [](void* data, std::size_t count, c10::ScalarType type, int peer, Comm comm, Stream stream) {
    return post_message(false, nullptr, data, count * c10::elementSize(type), peer, comm, stream);
  };
}

Api emulated_table() {
  Api api;
  api.device_type = c10::DeviceType::PrivateUse1;
  api.text_of = [](int result) { return result == internal_error ? "internal error" : "an error"; };
  api.last_error = [](Comm) { return "an error that was planted"; };
  api.unique_id = [](UniqueId* id) {
    const std::lock_guard lock(emulation().mutex);
    id->bytes.fill('\0');
    const std::string text = fmt::format("emulated {}", ++emulation().ids);
    std::copy(text.begin(), text.end(), id->bytes.begin());
    return success;
  };
  api.init = init;
  api.async_error = async_error;
  api.finalize = [](Comm) { return success; };
  api.destroy = end;
  api.abort = end;
  fill_collectives(api);
  fill_emulated_streams(api);
  return api;
}

}  // namespace

const Api& emulated_nccl() {
  static const Api api = emulated_table();
  return api;
}

void plant_fault(std::optional<EmulatedFault> fault) {
  const std::lock_guard lock(emulation().mutex);
  emulation().fault = fault;
}

}  // namespace d9d::nccl
