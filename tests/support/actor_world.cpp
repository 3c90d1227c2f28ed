#include "tests/support/actor_world.hpp"

namespace d9d::test {

class ActorWorld::QueueMailbox final : public Mailbox {
 public:
  QueueMailbox(ActorWorld& world, FakeHost* to) : world_(world), to_(to) {}
  void deliver(Frame frame, const MailboxPtr& attached) override {
    const ActorId from = peek_header(frame).sender;
    world_.enqueue({std::move(frame), attached, to_, from});
  }

 private:
  ActorWorld& world_;
  FakeHost* to_;
};

class FakeHost final : public ActorHost {
 public:
  FakeHost(ActorWorld& world, ActorId id, ActorId parent)
      : world_(world),
        id_(id),
        parent_(parent),
        mailbox_(std::make_shared<ActorWorld::QueueMailbox>(world, this)) {}

  std::optional<Frame> start(const ActorFactory& factory) {
    actor_ = factory(world_.world_);
    actor_->attach(this, id_, parent_);
    dispatcher_ = std::make_unique<Dispatcher>(world_.world_, *actor_, id_);
    return dispatcher_->start();
  }
  std::optional<Frame> dispatch(const ActorWorld::Letter& letter) {
    return dispatcher_->dispatch(letter.frame, letter.attached);
  }

  MailboxPtr mailbox() override { return mailbox_; }
  void spawn(ActorId id, Threading threading, ActorFactory factory, ActorId parent) override {
    world_.spawned.push_back({id, parent, threading});
    if (world_.children_play) {
      world_.spawn(id, threading, parent, factory);
    } else {
      world_.world_.book.enter(id, world_.ear_);
    }
  }
  void deliver_after(std::chrono::nanoseconds delay, Frame frame) override {
    world_.timers_.push({world_.clock_.now + delay.count(), world_.next_timer_++, id_, std::move(frame)});
  }
  void watch(const MailboxPtr& /*mailbox*/, int node) override { world_.watched.push_back(node); }
  std::uint16_t publish(const std::string& address, std::uint16_t port) override {
    if (world_.taken_ports.contains(port)) {
      throw Error(ErrorKind::environment, fmt::format("cannot listen on {}:{}", address, port));
    }
    world_.bound.push_back(address);
    return port == 0 ? 40000 : port;
  }
  void dial(std::string host, std::uint16_t port, int node) override {
    world_.dials.push_back({std::move(host), port, node});
  }
  void finish() override {
    finished_ = true;
    world_.world_.book.remove(id_);
  }

  ActorId id() const { return id_; }
  ActorId parent() const { return parent_; }
  bool finished() const { return finished_; }

 private:
  ActorWorld& world_;
  const ActorId id_;
  const ActorId parent_;
  MailboxPtr mailbox_;
  std::unique_ptr<Actor> actor_;
  std::unique_ptr<Dispatcher> dispatcher_;
  bool finished_ = false;
};

ActorWorld::ActorWorld(std::uint64_t seed, trace::Recorder* recorder)
    : world_{.clock = clock_, .recorder = recorder}, random_(seed), shuffles_(seed != 0) {
  ear_ = std::make_shared<QueueMailbox>(*this, nullptr);
  constexpr int elsewhere = 1000;
  world_.book.enter_node(elsewhere, ear_);
  world_.book.set_node_of([](ActorId) { return elsewhere; });
  world_.book.enter(parent_id, ear_);
}

ActorWorld::~ActorWorld() = default;

void ActorWorld::spawn(ActorId id, Threading /*threading*/, ActorId parent, const ActorFactory& factory) {
  auto& host = hosts_[id] = std::make_unique<FakeHost>(*this, id, parent);
  world_.book.enter(id, host->mailbox());
  fail(*host, host->start(factory));
}

Header ActorWorld::next_header(ActorId from, ActorId to) {
  return {.epoch = world_.epoch.load(),
          .sender = from,
          .receiver = to,
          .sequence = ++sequences_[{from, to}],
          .send_time_ns = clock_.now};
}

void ActorWorld::deliver(const Frame& frame, const MailboxPtr& attached) {
  const MailboxPtr mailbox = world_.book.find(peek_header(frame).receiver);
  mailbox->deliver(frame, attached);
}

void ActorWorld::enqueue(Letter letter) {
  const Decoded decoded(letter.frame, {.bytes_max = letter.frame.size_bytes()});
  told_.push_back({letter.frame, letter.attached, decoded.header(), decoded.type()});
  if (letter.to != nullptr) letters_.push_back(std::move(letter));
}

std::size_t ActorWorld::choose_letter() {
  if (!shuffles_) return 0;
  std::size_t chosen = random_() % letters_.size();
  // Only the oldest of one sender to one actor may go.
  for (std::size_t i = 0; i < chosen; ++i) {
    if (letters_[i].to == letters_[chosen].to && letters_[i].from == letters_[chosen].from) return i;
  }
  return chosen;
}

void ActorWorld::run() {
  while (!letters_.empty()) {
    const auto chosen = letters_.begin() + static_cast<std::ptrdiff_t>(choose_letter());
    const Letter letter = std::move(*chosen);
    letters_.erase(chosen);
    if (!letter.to->finished()) fail(*letter.to, letter.to->dispatch(letter));
  }
}

void ActorWorld::fail(FakeHost& host, std::optional<Frame> failure) {
  if (!failure) return;
  if (const MailboxPtr parent = world_.book.find(host.parent())) parent->deliver(*failure, nullptr);
  host.finish();
}

bool ActorWorld::lives(ActorId id) const {
  const auto host = hosts_.find(id);
  return host != hosts_.end() && !host->second->finished();
}

void ActorWorld::after(std::chrono::nanoseconds delay) {
  const std::int64_t until = clock_.now + delay.count();
  while (!timers_.empty() && timers_.top().due <= until) {
    const Timer timer = timers_.top();
    timers_.pop();
    clock_.now = timer.due;
    if (lives(timer.to)) hosts_.at(timer.to)->mailbox()->deliver(timer.frame, nullptr);
    run();
  }
  clock_.now = until;
}

}  // namespace d9d::test
