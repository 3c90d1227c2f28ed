#include "runtime/devices/delayed/nccl/emulated_across.hpp"

#include <algorithm>
#include <cstring>

#include "runtime/comm/reduce.hpp"
#include "runtime/devices/delayed/device_time.hpp"

namespace d9d::nccl {
namespace {

using PartKind = CollectivePart::Kind;

std::string text_at(const void* data, std::size_t bytes) {
  return bytes == 0 ? std::string() : std::string(static_cast<const char*>(data), bytes);
}

const char* part_of_rank(const CollectivePart& part, int rank) {
  const bool scatters = part.kind == PartKind::reduce_scatter;
  return static_cast<const char*>(part.in) + (scatters ? static_cast<std::size_t>(rank) * bytes_of(part) : 0);
}

}  // namespace

EmulatedAcross::EmulatedAcross(const std::string& name, int size, int rank, int device)
    : size_(size),
      rank_(rank),
      device_(device),
      links_(name, size, rank,
             {.came = [this](EmulatedFrame frame) { came(std::move(frame)); },
              .gone = [this](int peer) { gone(peer); },
              .work = [this] { return work(); }}) {}

EmulatedAcross::MarkPointer EmulatedAcross::mark() const {
  return std::make_shared<delayed::Mark>(delayed::machine(device_), delayed::collective_stream);
}

// Reached when it has come.
EmulatedAcross::MarkPointer EmulatedAcross::awaited(const Key& key) {
  const std::lock_guard lock(mutex_);
  MarkPointer mark = this->mark();
  if (came_.contains(key)) {
    mark->set(delayed::host_time_ns());
  } else {
    if (gone_.contains(key.peer)) error_ = remote_error;
    awaited_[key] = mark;
  }
  return mark;
}

void EmulatedAcross::came(EmulatedFrame frame) {
  const std::lock_guard lock(mutex_);
  const Key key = frame.key;
  came_[key] = std::move(frame);
  const auto found = awaited_.find(key);
  if (found == awaited_.end()) return;
  found->second->set(delayed::host_time_ns());
  awaited_.erase(found);
}

void EmulatedAcross::gone(int peer) {
  const std::lock_guard lock(mutex_);
  gone_.insert(peer);
  const auto is_of_peer = [peer](const auto& entry) { return entry.first.peer == peer; };
  if (std::any_of(awaited_.begin(), awaited_.end(), is_of_peer)) error_ = remote_error;
}

// Up to the last launch that another member has come to.
bool EmulatedAcross::work() {
  std::shared_ptr<const delayed::Mark> end;
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(launches_, [&](const Launch& launch) {
      if (!launch.end->reached()) return false;
      for (const Key& key : launch.keys) came_.erase(key);
      return true;
    });
    for (const Launch& launch : launches_) {
      const auto has_come = [&](const Key& key) { return came_.contains(key); };
      if (std::any_of(launch.keys.begin(), launch.keys.end(), has_come)) end = launch.end;
    }
  }
  if (!end) return false;
  delayed::Machine::work_towards(*end);
  return true;
}

void EmulatedAcross::tell(EmulatedFrame frame) {
  if (frame.key.peer == rank_) return came(std::move(frame));
  links_.send(std::move(frame));
}

EmulatedFrame EmulatedAcross::taken(const Key& key) {
  const std::lock_guard lock(mutex_);
  return came_.at(key);
}

void EmulatedAcross::add(std::vector<Key> keys, const EmulatedStream& stream) {
  auto end = stream.machine().record(stream.number);
  {
    const std::lock_guard lock(mutex_);
    launches_.push_back({std::move(keys), std::move(end)});
  }
  links_.wake();
}

void EmulatedAcross::launch(const CollectivePart& part, std::uint64_t number, const EmulatedStream& stream,
                            const delayed::Ended& ended) {
  delayed::Machine& machine = stream.machine();
  const auto self = shared_from_this();
  std::vector<Key> keys;
  for (int peer = 0; peer < size_; ++peer)
    if (peer != rank_) keys.push_back({Kind::part, peer, number});
  machine.enqueue(stream.number, touched_by(part, static_cast<std::size_t>(size_)),
                  [self, part, number, ended] {
                    if (!*ended) self->tell_part(part, number);
                  });
  for (const Key& key : keys) machine.hold(stream.number, awaited(key), ended);
  const MarkPointer finished = mark();
  machine.enqueue(stream.number, [self, part, number, ended, finished] {
    if (!*ended && self->finish(part, number)) finished->set(delayed::end_of_this_piece());
  });
  machine.hold(stream.number, finished, ended);
  add(std::move(keys), stream);
}

void EmulatedAcross::tell_part(const CollectivePart& part, std::uint64_t number) {
  const bool tells = part.kind != PartKind::broadcast || part.root == rank_;
  for (int peer = 0; peer < size_; ++peer) {
    if (peer == rank_) continue;
    tell({{Kind::part, peer, number}, part, text_at(part_of_rank(part, peer), tells ? bytes_of(part) : 0)});
  }
}

// All parts are here. Its own memory may be written now: what others need of it has been copied.
bool EmulatedAcross::finish(const CollectivePart& part, std::uint64_t number) {
  const std::size_t bytes = bytes_of(part);
  std::vector<EmulatedFrame> frames(static_cast<std::size_t>(size_));
  std::vector<const void*> sources(frames.size(), part_of_rank(part, rank_));
  for (int peer = 0; peer < size_; ++peer) {
    if (peer == rank_) continue;
    EmulatedFrame& frame = frames[static_cast<std::size_t>(peer)];
    frame = taken({Kind::part, peer, number});
    if (!same_call(part, frame.part)) return false;
    sources[static_cast<std::size_t>(peer)] = frame.bytes.data();
  }
  auto* const out = static_cast<char*>(part.out);
  if (bytes == 0) return true;
  if (part.kind == PartKind::broadcast) {
    std::memmove(out, sources[static_cast<std::size_t>(part.root)], bytes);
  } else if (part.kind == PartKind::all_gather) {
    for (std::size_t from = 0; from < sources.size(); ++from)
      std::memmove(out + from * bytes, sources[from], bytes);
  } else {
    void* const target = out;
    comm::reduce(part.type, part.op, sources, {&target, 1}, static_cast<std::int64_t>(part.count));
  }
  return true;
}

void EmulatedAcross::launch(const std::vector<AcrossMessage>& messages, const EmulatedStream& stream,
                            const delayed::Ended& ended) {
  delayed::Machine& machine = stream.machine();
  const auto self = shared_from_this();
  delayed::Touched touched{.op = "ncclSend, ncclRecv", .exchanges = true};
  std::vector<Key> keys;
  for (const AcrossMessage& message : messages) {
    touched.memory.push_back(
        touch_of(message.sends ? message.from : message.to, message.bytes, !message.sends));
    keys.push_back({message.sends ? Kind::wanted : Kind::message, message.peer, message.number});
    if (message.sends) keys.push_back({Kind::taken, message.peer, message.number});
  }
  machine.enqueue(stream.number, touched, [self, messages, ended] {
    for (const AcrossMessage& message : messages) {
      if (*ended) return;
      const Kind kind = message.sends ? Kind::message : Kind::wanted;
      self->tell({{kind, message.peer, message.number},
                  {},
                  text_at(message.from, message.sends ? message.bytes : 0)});
    }
  });
  for (const AcrossMessage& message : messages)
    if (!message.sends)
      machine.hold(stream.number, awaited({Kind::message, message.peer, message.number}), ended);
  const MarkPointer received = mark();
  machine.enqueue(stream.number, [self, messages, ended, received] {
    if (!*ended && self->take_messages(messages)) received->set(delayed::end_of_this_piece());
  });
  machine.hold(stream.number, received, ended);
  for (const AcrossMessage& message : messages)
    if (message.sends)
      machine.hold(stream.number, awaited({Kind::taken, message.peer, message.number}), ended);
  add(std::move(keys), stream);
}

bool EmulatedAcross::take_messages(const std::vector<AcrossMessage>& messages) {
  for (const AcrossMessage& message : messages) {
    if (message.sends) continue;
    const EmulatedFrame frame = taken({Kind::message, message.peer, message.number});
    if (frame.bytes.size() != message.bytes) return false;
    if (message.bytes > 0) std::memcpy(message.to, frame.bytes.data(), message.bytes);
    tell({{Kind::taken, message.peer, message.number}});
  }
  return true;
}

}  // namespace d9d::nccl
