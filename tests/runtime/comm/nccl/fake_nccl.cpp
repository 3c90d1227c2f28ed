// Communicators: who is a member, collectives, messages.
#include "tests/runtime/comm/nccl/fake_nccl.hpp"

#include <ATen/ops/from_blob.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/minimum.h>

#include <algorithm>
#include <cstring>

#include "tests/runtime/comm/nccl/fake_state.hpp"

namespace d9d::nccl::fake {

namespace {

thread_local int group_depth = 0;
thread_local std::vector<Post> batch;
thread_local CommPtr batch_comm;
thread_local Stream batch_stream = nullptr;

at::Tensor tensor_at(const void* data, std::size_t count, c10::ScalarType type) {
  return at::from_blob(const_cast<void*>(data), {static_cast<std::int64_t>(count)}, type);
}

void reduce_into(at::Tensor& sum, const at::Tensor& more, ReduceOp op) {
  if (op == ReduceOp::sum) sum.add_(more);
  if (op == ReduceOp::max) sum.copy_(at::maximum(sum, more));
  if (op == ReduceOp::min) sum.copy_(at::minimum(sum, more));
}

// By the last one to come, while nobody else moves.
void meet(FakeGroup& group, Meeting& meeting) {
  const CollectivePart first = meeting.parts.at(0);
  for (const auto& [rank, part] : meeting.parts) {
    if (part.kind != first.kind || part.count != first.count) return;  // all wait for ever
  }
  const bool scatters = first.kind == CollectivePart::Kind::reduce_scatter;
  const auto size = static_cast<std::size_t>(group.size);
  const std::size_t count_in = scatters ? first.count * size : first.count;
  std::vector<at::Tensor> inputs;
  for (const auto& [rank, part] : meeting.parts)
    inputs.push_back(tensor_at(part.in, count_in, part.type).clone());
  at::Tensor sum = inputs.front().clone();
  for (std::size_t rank = 1; rank < size && (scatters || first.kind == CollectivePart::Kind::all_reduce);
       ++rank)
    reduce_into(sum, inputs[rank], first.op);
  for (const auto& [rank, part] : meeting.parts) {
    const auto count = static_cast<std::int64_t>(part.count);
    if (part.kind == CollectivePart::Kind::all_reduce) tensor_at(part.out, part.count, part.type).copy_(sum);
    if (scatters) tensor_at(part.out, part.count, part.type).copy_(sum.narrow(0, rank * count, count));
    if (part.kind == CollectivePart::Kind::broadcast)
      tensor_at(part.out, part.count, part.type).copy_(inputs[static_cast<std::size_t>(part.root)]);
    for (std::size_t from = 0; from < size && part.kind == CollectivePart::Kind::all_gather; ++from)
      tensor_at(part.out, part.count * size, part.type)
          .narrow(0, static_cast<std::int64_t>(from) * count, count)
          .copy_(inputs[from]);
  }
  meeting.done = true;
}

int launch_part(const CollectivePart& part, Comm comm, Stream stream) {
  const std::lock_guard lock(state().mutex);
  const CommPtr found = state().find(comm);
  if (!found) return invalid_argument;
  const std::uint64_t number = found->collectives++;
  return state().enqueue(found, stream, [found, number, part] {
    Meeting& meeting = found->group->meetings[number];
    if (!meeting.parts.contains(found->rank)) {
      meeting.parts[found->rank] = part;
      if (static_cast<int>(meeting.parts.size()) == found->group->size) meet(*found->group, meeting);
    }
    return meeting.done;
  });
}

int launch_batch() {
  const CommPtr comm = batch_comm;
  const std::vector<Post> posts = std::move(batch);
  batch.clear();
  batch_comm.reset();
  if (posts.empty()) return success;
  return state().enqueue(comm, batch_stream, [comm, posts] {
    std::vector<const Message*> mine;
    for (const Post& post : posts) {
      const auto pair = post.sends ? std::pair(comm->rank, post.peer) : std::pair(post.peer, comm->rank);
      Message& message = comm->group->messages[pair][post.number];
      if (post.sends) {
        message.from = post.from;
        message.bytes_sent = post.bytes;
      } else {
        message.to = post.to;
        message.bytes_taken = post.bytes;
      }
      const bool met = message.from != nullptr && message.to != nullptr;
      if (met && !message.done && message.bytes_sent == message.bytes_taken) {
        std::memcpy(message.to, message.from, message.bytes_sent);
        message.done = true;
        state().changed.notify_all();  // the peer may wait for this one only
      }
      mine.push_back(&message);
    }
    return std::all_of(mine.begin(), mine.end(), [](const Message* message) { return message->done; });
  });
}

int post_message(Post post, Comm comm, Stream stream) {
  const std::lock_guard lock(state().mutex);
  const CommPtr found = state().find(comm);
  if (!found) return invalid_argument;
  // A message without bytes has no place, but is a message.
  static char nowhere = 0;
  if (post.sends && post.from == nullptr) post.from = &nowhere;
  if (!post.sends && post.to == nullptr) post.to = &nowhere;
  post.number = post.sends ? found->sent[post.peer]++ : found->received[post.peer]++;
  batch.push_back(post);
  batch_comm = found;
  batch_stream = stream;
  return group_depth > 0 ? success : launch_batch();
}

int fake_init(Comm* comm, int size, const UniqueId& id, int rank) {
  const std::lock_guard lock(state().mutex);
  auto& group = state().groups[std::string(id.bytes.data(), id.bytes.size())];
  if (!group) group = std::make_shared<FakeGroup>();
  group->size = size;
  ++group->arrived;
  group->devices[rank] = device_of_thread();
  auto made = std::make_shared<FakeComm>();
  made->group = group;
  made->rank = rank;
  made->device = device_of_thread();
  *comm = made.get();
  state().comms[*comm] = made;
  return in_progress;
}

int fake_async_error(Comm comm, int* result) {
  const std::lock_guard lock(state().mutex);
  const CommPtr found = state().find(comm);
  if (!found) return invalid_argument;
  *result = found->error;
  const bool whole = found->group->arrived == found->group->size;
  if (found->error == success && !whole) *result = in_progress;
  return success;
}

// What the rank has given to collectives and messages that are not done. Its memory may be freed from now on, and a
// peer that still comes must not find it.
void take_back(const FakeComm& comm) {
  for (auto& [number, meeting] : comm.group->meetings)
    if (!meeting.done) meeting.parts.erase(comm.rank);
  for (auto& [pair, messages] : comm.group->messages) {
    for (auto& [number, message] : messages) {
      if (message.done) continue;
      if (pair.first == comm.rank) message.from = nullptr;
      if (pair.second == comm.rank) message.to = nullptr;
    }
  }
}

int forget(Comm comm) {
  const std::lock_guard lock(state().mutex);
  const CommPtr found = state().find(comm);
  if (!found) return invalid_argument;
  found->aborted = true;
  take_back(*found);
  state().enders.insert(std::this_thread::get_id());
  state().comms.erase(comm);
  state().changed.notify_all();
  return success;
}

void fill_messages(Api& api) {
  api.group_start = [] { return ++group_depth, success; };
  api.group_end = [] {
    if (--group_depth > 0) return success;
    const std::lock_guard lock(state().mutex);
    return launch_batch();
  };
  api.send = [](const void* data, std::size_t count, c10::ScalarType type, int peer, Comm comm,
                Stream stream) {
    return post_message({true, peer, data, nullptr, count * c10::elementSize(type)}, comm, stream);
  };
  api.receive = [](void* data, std::size_t count, c10::ScalarType type, int peer, Comm comm, Stream stream) {
    return post_message({false, peer, nullptr, data, count * c10::elementSize(type)}, comm, stream);
  };
}

}  // namespace

void fill_communicators(Api& api) {
  api.text_of = [](int result) { return result == remote_error ? "remote error" : "internal error"; };
  api.last_error = [](Comm) { return "the fake's last words"; };
  api.unique_id = [](UniqueId* id) {
    const std::lock_guard lock(state().mutex);
    std::snprintf(id->bytes.data(), id->bytes.size(), "id %d", static_cast<int>(++state().ids));
    return success;
  };
  api.init = fake_init;
  api.async_error = fake_async_error;
  api.finalize = [](Comm) { return success; };
  api.destroy = forget;
  api.abort = [](Comm comm) {
    std::unique_lock lock(state().mutex);
    state().changed.wait(lock, [] { return !state().holds_aborts; });
    lock.unlock();
    return forget(comm);
  };
  fill_collectives<launch_part>(api);
  fill_messages(api);
}

}  // namespace d9d::nccl::fake
