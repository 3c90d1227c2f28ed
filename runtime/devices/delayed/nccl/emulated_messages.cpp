#include <cstring>

#include "runtime/devices/delayed/device_time.hpp"
#include "runtime/devices/delayed/nccl/emulated_across.hpp"

namespace d9d::nccl {

struct EmulatedMessage {
  const void* from = nullptr;
  void* to = nullptr;
  std::size_t bytes_sent = 0, bytes_taken = 0;
  std::shared_ptr<delayed::Mark> ready, taken;
};

namespace {

// What a thread has called since group_start().
struct Post {
  bool sends = false;
  int peer = 0;
  int device_of_sender = 0;
  std::size_t bytes = 0;
  std::shared_ptr<EmulatedMessage> message;
};
struct Batch {
  int depth = 0;
  std::vector<Post> posts;
  std::vector<AcrossMessage> across;
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
  const std::vector<AcrossMessage> across = std::exchange(batch().across, {});
  if (comm == nullptr) return success;
  const auto& stream = *static_cast<const EmulatedStream*>(batch().stream);
  if (fails_here(*comm, stream)) return success;
  if (comm->across) {
    comm->across->launch(across, stream, comm->ended);
    return success;
  }
  delayed::Machine& machine = stream.machine();
  delayed::Touched touched{.op = "ncclSend, ncclRecv", .exchanges = true};
  for (const Post& post : posts)
    touched.memory.push_back(
        touch_of(post.sends ? post.message->from : post.message->to, post.bytes, !post.sends));
  machine.enqueue(stream.number, touched, [posts, ended = comm->ended] {
    for (const Post& post : posts)
      if (post.sends && !*ended) post.message->ready->set(delayed::end_of_this_piece());
  });
  for (const Post& post : posts)
    if (!post.sends) machine.hold(stream.number, post.message->ready, comm->ended);
  machine.enqueue(stream.number, [posts, ended = comm->ended] {
    for (const Post& post : posts) {
      const EmulatedMessage& message = *post.message;
      if (post.sends || *ended || message.bytes_sent != message.bytes_taken) continue;
      const delayed::OpenMemory open(delayed::machine(post.device_of_sender).memory());
      if (message.bytes_sent > 0) std::memcpy(message.to, message.from, message.bytes_sent);
      message.taken->set(delayed::end_of_this_piece());
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
  if (comm.across) {
    const std::uint64_t number = sends ? comm.sent[peer]++ : comm.received[peer]++;
    batch().across.push_back({sends, peer, number, from, to, bytes});
  } else {
    const std::lock_guard lock(group.mutex);
    auto& pair = group.messages[{sender, receiver}];
    std::erase_if(pair, [](const auto& entry) { return entry.second.expired(); });
    auto& entry = pair[sends ? comm.sent[peer]++ : comm.received[peer]++];
    std::shared_ptr<EmulatedMessage> message = entry.lock();
    if (!message)
      message = std::make_shared<EmulatedMessage>(
          EmulatedMessage{.ready = group.mark_of(sender), .taken = group.mark_of(receiver)});
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

}  // namespace

void fill_messages(Api& api) {
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

}  // namespace d9d::nccl
