#pragma once
// A process of actors without threads, network or waiting: mailboxes are one queue, time stands until a test
// moves it. Actors that play() are real, everyone else is an ear whose messages are kept.
//   world.play<Trainer>(trainer_id, options);  world.say<wire::BatchReady>(trainer_id, fill);
//   world.heard<wire::BeginStep>()[0]->getStep();
// With a seed, messages of different senders overtake each other; those of one sender to one actor never do.

#include <deque>
#include <map>
#include <optional>
#include <queue>
#include <random>
#include <set>

#include "actors/core/dispatcher.hpp"

namespace d9d::test {

class VirtualClock final : public Clock {
 public:
  std::int64_t now_ns() const override { return now; }
  std::int64_t wall_ns() const override { return 1'000'000'000'000'000'000 + now; }
  std::int64_t now = 1'000'000'000;
};

// A message that was told to somebody.
struct Told {
  Frame frame;
  MailboxPtr attached;
  Header header;
  std::uint64_t type = 0;
};

template <class T>
class Heard {
 public:
  explicit Heard(const Told& told) : told_(told), decoded_(std::make_shared<Decoded>(told_.frame)) {}
  ActorId from() const { return told_.header.sender; }
  ActorId to() const { return told_.header.receiver; }
  std::uint64_t flow() const { return told_.header.flow; }
  const MailboxPtr& attached() const { return told_.attached; }
  struct Arrow {
    typename T::Reader reader;
    const typename T::Reader* operator->() const { return &reader; }
  };
  Arrow operator->() const { return {decoded_->body<T>()}; }

 private:
  Told told_;
  std::shared_ptr<Decoded> decoded_;
};

class FakeHost;

class ActorWorld {
 public:
  struct Spawned {
    ActorId id;
    ActorId parent;
    Threading threading;
  };
  struct Dial {
    std::string host;
    std::uint16_t port;
    int node;
  };

  explicit ActorWorld(std::uint64_t seed = 0, trace::Recorder* recorder = nullptr);
  ~ActorWorld();

  // A real actor; its started() has run. Its parent is probe/0, an ear.
  template <class T, class... Arguments>
  void play(ActorId id, Arguments&&... arguments) {
    spawn(id, Threading::pool, parent_id,
          [&](World& world) { return std::make_unique<T>(world, std::forward<Arguments>(arguments)...); });
    run();
  }
  // As `from`; everything that follows from it has happened on return.
  template <class T, class Fill>
  void say(ActorId to, Fill&& fill, ActorId from = parent_id, const MailboxPtr& attach = nullptr) {
    post<T>(to, std::forward<Fill>(fill), from, attach);
    run();
  }
  template <class T>
  void say(ActorId to, ActorId from = parent_id) {
    say<T>(
        to, [](typename T::Builder) {}, from);
  }
  // Only puts it into the mailbox; run() delivers.
  template <class T, class Fill>
  void post(ActorId to, Fill&& fill, ActorId from = parent_id, const MailboxPtr& attach = nullptr) {
    deliver(encode<T>(next_header(from, to), std::forward<Fill>(fill)), attach);
  }
  void deliver(const Frame& frame, const MailboxPtr& attached = nullptr);
  void run();
  // Moves time; timers ring in their order.
  void after(std::chrono::nanoseconds delay);

  // All messages of this type told so far, to anyone or to one.
  template <class T>
  std::vector<Heard<T>> heard(std::optional<ActorId> by = std::nullopt) const;
  // The last one; an error when there is none.
  template <class T>
  Heard<T> last(std::optional<ActorId> by = std::nullopt) const {
    const auto all = heard<T>(by);
    D9D_CHECK(!all.empty(), "nobody said {}", capnp::Schema::from<T>().getShortDisplayName().cStr());
    return all.back();
  }
  const std::vector<Told>& told() const { return told_; }
  void forget() { told_.clear(); }
  bool lives(ActorId id) const;

  World& world() { return world_; }
  VirtualClock& clock() { return clock_; }
  // An ear in another process.
  MailboxPtr ear() const { return ear_; }

  std::vector<Spawned> spawned;
  std::vector<Dial> dials;
  std::vector<int> watched;
  std::vector<std::string> bound;  // hosts of ports that were opened
  std::set<std::uint16_t> taken_ports;
  // Children become real; otherwise they are ears.
  bool children_play = false;

  static constexpr ActorId parent_id{Role::probe, 0};

 private:
  friend class FakeHost;
  struct Letter {
    Frame frame;
    MailboxPtr attached;
    FakeHost* to;  // null: an ear
    ActorId from;
  };
  class QueueMailbox;
  struct Timer {
    std::int64_t due;
    std::uint64_t number;
    ActorId to;
    Frame frame;
    bool operator>(const Timer& other) const {
      return std::tie(due, number) > std::tie(other.due, other.number);
    }
  };

  void spawn(ActorId id, Threading threading, ActorId parent, const ActorFactory& factory);
  Header next_header(ActorId from, ActorId to);
  void enqueue(Letter letter);
  std::size_t choose_letter();
  void fail(FakeHost& host, std::optional<Frame> failure);

  VirtualClock clock_;
  World world_;
  MailboxPtr ear_;
  std::mt19937_64 random_;
  const bool shuffles_;
  std::deque<Letter> letters_;
  std::priority_queue<Timer, std::vector<Timer>, std::greater<>> timers_;
  std::uint64_t next_timer_ = 0;
  std::map<ActorId, std::unique_ptr<FakeHost>> hosts_;
  std::map<std::pair<ActorId, ActorId>, std::uint64_t> sequences_;
  std::vector<Told> told_;
};

template <class T>
std::vector<Heard<T>> ActorWorld::heard(std::optional<ActorId> by) const {
  std::vector<Heard<T>> all;
  for (const Told& told : told_) {
    if (told.type == capnp::typeId<T>() && (!by || told.header.receiver == *by)) all.emplace_back(told);
  }
  return all;
}

}  // namespace d9d::test
