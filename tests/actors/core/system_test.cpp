// The actor core over real CAF systems: order, failures,
// timers, a second process's worth of network on loopback.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <future>
#include <thread>

#include "actors/core/system.hpp"
#include "messages/cluster.capnp.h"
#include "messages/train.capnp.h"
#include "runtime/base/error.hpp"
#include "tests/support/error_of.hpp"

namespace d9d {
namespace {

constexpr std::chrono::seconds patience{100};
constexpr ActorId first_id{Role::probe, 1};
constexpr ActorId second_id{Role::probe, 2};

// Answers each ReduceBucket with BucketReduced; throws on bucket 13.
class Echo final : public Actor {
 public:
  // With `port`: opens one in started() and tells which.
  explicit Echo(World& world, std::promise<std::uint16_t>* port = nullptr, std::uint16_t wish = 0)
      : Actor(world), port_(port), wish_(wish) {}
  void started() override {
    if (port_ == nullptr) return;
    try {
      port_->set_value(host().publish("127.0.0.1", wish_));
    } catch (...) {
      port_->set_exception(std::current_exception());
    }
  }
  void behavior(Handlers& handlers) override { handlers.on(this, &Echo::reduce_bucket); }
  void reduce_bucket(wire::ReduceBucket::Reader message) {
    D9D_REQUIRE(message.getBucket() != 13, "bucket 13 is cursed");
    const auto fill = [&](wire::BucketReduced::Builder reply) {
      reply.setStep(message.getStep());
      reply.setBucket(message.getBucket());
    };
    if (attached()) {
      tell_via<wire::BucketReduced>(attached(), sender(), fill);
    } else {
      tell<wire::BucketReduced>(sender(), fill);
    }
  }

 private:
  std::promise<std::uint16_t>* port_;
  std::uint16_t wish_;
};

struct Heard {
  std::promise<std::vector<std::uint32_t>> buckets;
  std::promise<std::string> failure;
};

// Finds an Echo (its own child, or in another process behind
// `port`), asks it `count` times, keeps what comes back.
class Asker final : public Actor {
 public:
  Asker(World& world, Heard* heard, std::uint32_t count, std::uint16_t port = 0)
      : Actor(world), heard_(heard), count_(count), port_(port) {}
  void behavior(Handlers& handlers) override {
    handlers.on(this, &Asker::bucket_reduced);
    handlers.on(this, &Asker::failed);
    handlers.on_any_epoch(this, &Asker::dialed);
  }
  void started() override {
    if (port_ != 0) return host().dial("127.0.0.1", port_, 0);
    spawn(second_id, Threading::own_thread, [](World& w) { return std::make_unique<Echo>(w); });
    ask(nullptr);
  }
  void dialed(wire::Dialed::Reader message) {
    D9D_CHECK(message.getOk(), "no connection: {}{}", std::string(message.getReason()),
              message.getStranger() ? "; a stranger" : "");
    world().book.enter_node(0, attached());
    world().book.set_node_of([](ActorId) { return 0; });
    ask(host().mailbox());
  }
  void bucket_reduced(wire::BucketReduced::Reader message) {
    got_.push_back(message.getBucket());
    if (got_.size() == count_) heard_->buckets.set_value(got_);
  }
  void failed(wire::Failed::Reader message) {
    heard_->failure.set_value(std::string(message.getActor()) + ": " + std::string(message.getText()) + " (" +
                              std::string(message.getMessage()) + ")");
  }

 private:
  void ask(const MailboxPtr& answer_to) {
    for (std::uint32_t i = 0; i < count_; ++i) {
      tell<wire::ReduceBucket>(
          second_id, [&](wire::ReduceBucket::Builder reduce) { reduce.setBucket(i); }, answer_to);
    }
  }

  Heard* heard_;
  std::uint32_t count_;
  std::uint16_t port_;
  std::vector<std::uint32_t> got_;
};

void stop(World& world, ActorId id) {
  world.book.find(id)->deliver(encode<wire::Stop>({.receiver = id}, [](auto) {}), nullptr);
}

template <class T>
T wait_for(std::promise<T>& promise) {
  auto future = promise.get_future();
  if (future.wait_for(patience) != std::future_status::ready) throw std::runtime_error("nothing was heard");
  return future.get();
}

TEST(ActorCore, MessagesBetweenTwoActorsArriveInOrder) {
  SystemClock clock;
  World world{.clock = clock};
  Heard heard;
  ActorSystem system(world, {});

  system.spawn_root(first_id, Threading::pool,
                    [&](World& w) { return std::make_unique<Asker>(w, &heard, 10); });

  EXPECT_EQ(wait_for(heard.buckets), (std::vector<std::uint32_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
  stop(world, second_id);
  stop(world, first_id);
  EXPECT_TRUE(system.await_all(patience));
}

TEST(ActorCore, AHandlerThatThrowsIsReportedToItsParentWithActorMessageAndText) {
  SystemClock clock;
  World world{.clock = clock};
  Heard heard;
  ActorSystem system(world, {});

  system.spawn_root(first_id, Threading::pool,
                    [&](World& w) { return std::make_unique<Asker>(w, &heard, 20); });

  EXPECT_EQ(wait_for(heard.failure), "probe/2: bucket 13 is cursed (ReduceBucket)");
  stop(world, first_id);
  EXPECT_TRUE(system.await_all(patience));
}

class FailsAtOnce final : public Actor {
 public:
  using Actor::Actor;
  void behavior(Handlers&) override {}
  void started() override { D9D_REQUIRE(false, "no such file"); }
};

// The actor's thread may be through with it before the spawning one goes on; CAF would wait for that thread
// forever if the book still held the actor.
TEST(ActorCore, AnActorThatFailsAtItsStartHasLeftTheAddressBook) {
  SystemClock clock;
  World world{.clock = clock};
  ActorSystem system(world, {});
  constexpr std::uint64_t actors = 200;

  for (std::uint64_t i = 0; i < actors; ++i) {
    system.spawn_root({Role::probe, i}, Threading::own_thread,
                      [](World& w) { return std::make_unique<FailsAtOnce>(w); });
  }

  EXPECT_TRUE(system.await_all(patience));
  for (std::uint64_t i = 0; i < actors; ++i) EXPECT_EQ(world.book.find_local({Role::probe, i}), nullptr) << i;
}

// Its destructor waits, as that of an actor with a thread of its own does.
class LeavesWhenTold final : public Actor {
 public:
  LeavesWhenTold(World& world, std::shared_future<void> told) : Actor(world), told_(std::move(told)) {}
  ~LeavesWhenTold() override { told_.wait(); }
  void behavior(Handlers&) override {}

 private:
  std::shared_future<void> told_;
};

TEST(ActorCore, AnActorIsAtWorkWhileItEnds) {
  SystemClock clock;
  World world{.clock = clock};
  ActorSystem system(world, {});
  std::promise<void> told;
  system.spawn_root(first_id, Threading::own_thread, [left = told.get_future().share()](World& w) {
    return std::make_unique<LeavesWhenTold>(w, left);
  });

  stop(world, first_id);
  EXPECT_FALSE(system.await_all(std::chrono::milliseconds(0)));
  while (world.book.find_local(first_id) != nullptr) std::this_thread::yield();
  while (world.activities.busy(0).empty()) std::this_thread::yield();
  EXPECT_THAT(world.activities.busy(clock.now_ns()), testing::StartsWith("probe/1 in its end since "));

  told.set_value();
  EXPECT_TRUE(system.await_all(patience));
  EXPECT_EQ(world.activities.busy(clock.now_ns()), "");
}

TEST(ActorCore, BadFramesAreRefusedAndCountedAndTheActorLivesOn) {
  SystemClock clock;
  World world{.clock = clock};
  Heard heard;
  ActorSystem system(world, {});
  system.spawn_root(first_id, Threading::pool,
                    [&](World& w) { return std::make_unique<Asker>(w, &heard, 1); });
  wait_for(heard.buckets);
  const MailboxPtr echo = world.book.find(second_id);

  echo->deliver(Frame(std::vector<capnp::word>(3)), nullptr);  // no envelope
  echo->deliver(encode<wire::ReduceBucket>({.epoch = 7, .receiver = second_id}, [](auto) {}),
                nullptr);  // other epoch
  echo->deliver(encode<wire::ApplyStep>({.receiver = second_id, .sequence = 1}, [](auto) {}),
                nullptr);  // not heard
  const Header again{.sender = first_id, .receiver = second_id, .sequence = 1};
  echo->deliver(encode<wire::ReduceBucket>(again, [](auto) {}), nullptr);  // repeated
  stop(world, second_id);
  stop(world, first_id);

  EXPECT_TRUE(system.await_all(patience));
  EXPECT_GE(world.refused.load(), 3U);
}

TEST(ActorCore, ActorsOfTwoProcessesTalkThroughTheNetwork) {
  SystemClock clock;
  World here{.clock = clock}, there{.clock = clock};
  Heard heard;
  ActorSystem near(here, {}), far(there, {});
  std::promise<std::uint16_t> opened;
  far.spawn_root(second_id, Threading::pool, [&](World& w) { return std::make_unique<Echo>(w, &opened); });
  const std::uint16_t port = wait_for(opened);

  near.spawn_root(first_id, Threading::pool,
                  [&](World& w) { return std::make_unique<Asker>(w, &heard, 5, port); });

  EXPECT_EQ(wait_for(heard.buckets), (std::vector<std::uint32_t>{0, 1, 2, 3, 4}));
  stop(here, first_id);
  stop(there, second_id);
  EXPECT_TRUE(near.await_all(patience));
  EXPECT_TRUE(far.await_all(patience));
}

// Node 0 as far as joining goes: what is told before the Join never comes, what is told after it does.
class Registrar final : public Actor {
 public:
  Registrar(World& world, std::promise<std::uint16_t>* port, std::vector<std::uint32_t>* heard)
      : Actor(world), port_(port), heard_(heard) {}
  void started() override { port_->set_value(host().publish("127.0.0.1", 0)); }
  void behavior(Handlers& handlers) override {
    handlers.on_any_epoch(this, &Registrar::join);
    handlers.on(this, &Registrar::reduce_bucket);
  }
  void join(wire::Join::Reader) {
    world().connections.admit(connection());
    tell_via<wire::BucketReduced>(attached(), sender(), [](auto) {});
  }
  void reduce_bucket(wire::ReduceBucket::Reader message) {
    heard_->push_back(message.getBucket());
    tell_via<wire::BucketReduced>(attached(), sender(),
                                  [&](auto reply) { reply.setBucket(message.getBucket()); });
  }

 private:
  std::promise<std::uint16_t>* port_;
  std::vector<std::uint32_t>* heard_;
};

class Joiner final : public Actor {
 public:
  Joiner(World& world, std::uint16_t port, std::promise<std::uint32_t>* answered)
      : Actor(world), port_(port), answered_(answered) {}
  void started() override { host().dial("127.0.0.1", port_, 0); }
  void behavior(Handlers& handlers) override {
    handlers.on_any_epoch(this, &Joiner::dialed);
    handlers.on(this, &Joiner::bucket_reduced);
  }
  void dialed(wire::Dialed::Reader message) {
    D9D_CHECK(message.getOk(), "no connection: {}", std::string(message.getReason()));
    peer_ = attached();
    reduce(1);
    tell_via<wire::Join>(
        peer_, registrar_id, [](auto) {}, host().mailbox());
  }
  void bucket_reduced(wire::BucketReduced::Reader message) {
    if (message.getBucket() == 0) return reduce(2);
    answered_->set_value(message.getBucket());
  }

  static constexpr ActorId registrar_id{Role::coordinator, 0};

 private:
  void reduce(std::uint32_t bucket) {
    tell_via<wire::ReduceBucket>(
        peer_, registrar_id, [&](auto reduce) { reduce.setBucket(bucket); }, host().mailbox());
  }
  std::uint16_t port_;
  std::promise<std::uint32_t>* answered_;
  MailboxPtr peer_;
};

TEST(ActorCore, AProcessThatHasNotJoinedMaySayJoinAndNothingElse) {
  SystemClock clock;
  World here{.clock = clock}, there{.clock = clock};
  net::Gate near_gate(nullptr, {.awaits_membership = true}), far_gate(nullptr, {.awaits_membership = true});
  std::vector<std::uint32_t> heard;
  std::promise<std::uint16_t> opened;
  std::promise<std::uint32_t> answered;
  ActorSystem near(here, {.gate = &near_gate}), far(there, {.gate = &far_gate});
  far.spawn_root(Joiner::registrar_id, Threading::pool,
                 [&](World& w) { return std::make_unique<Registrar>(w, &opened, &heard); });
  const std::uint16_t port = wait_for(opened);

  near.spawn_root(first_id, Threading::pool,
                  [&](World& w) { return std::make_unique<Joiner>(w, port, &answered); });

  EXPECT_EQ(wait_for(answered), 2U);
  stop(here, first_id);
  stop(there, Joiner::registrar_id);
  EXPECT_TRUE(near.await_all(patience));
  EXPECT_TRUE(far.await_all(patience));
  EXPECT_EQ(heard, std::vector<std::uint32_t>{2});
  EXPECT_EQ(there.refused, 0U) << "nothing counts against the sender";
}

TEST(ActorCore, AProcessThatDoesNotKnowTheSecretIsTold) {
  SystemClock clock;
  World here{.clock = clock}, there{.clock = clock};
  net::Gate near_gate(nullptr, {.secret = {net::SecretKind::token, "guess"}}),
      far_gate(nullptr, {.secret = {net::SecretKind::token, "open sesame"}});
  std::promise<std::uint16_t> opened;
  Heard heard;
  ActorSystem near(here, {.gate = &near_gate}), far(there, {.gate = &far_gate});
  far.spawn_root(second_id, Threading::pool, [&](World& w) { return std::make_unique<Echo>(w, &opened); });
  const std::uint16_t port = wait_for(opened);
  std::promise<std::string> told;

  near.spawn_root(
      first_id, Threading::pool, [&](World& w) { return std::make_unique<Asker>(w, &heard, 1, port); },
      [&](ErrorKind, const std::string& report) { told.set_value(report); });

  EXPECT_NE(wait_for(told).find("it belongs to another job, or to another start of this one"),
            std::string::npos);
  stop(there, second_id);
  EXPECT_TRUE(near.await_all(patience));
  EXPECT_TRUE(far.await_all(patience));
}

class ClockAhead final : public Clock {
 public:
  std::int64_t now_ns() const override { return clock_.now_ns() + 3'600'000'000'000; }
  std::int64_t wall_ns() const override { return clock_.wall_ns(); }

 private:
  SystemClock clock_;
};

TEST(ActorCore, AMessageOfAnotherProcessIsQueuedSinceItsArrivalWhateverTheClockThere) {
  SystemClock clock;
  const ClockAhead clock_there;
  trace::Recorder recorder;
  World here{.clock = clock, .recorder = &recorder}, there{.clock = clock_there};
  Heard heard;
  ActorSystem near(here, {}), far(there, {});
  std::promise<std::uint16_t> opened;
  far.spawn_root(second_id, Threading::pool, [&](World& w) { return std::make_unique<Echo>(w, &opened); });
  const std::uint16_t port = wait_for(opened);

  near.spawn_root(first_id, Threading::pool,
                  [&](World& w) { return std::make_unique<Asker>(w, &heard, 1, port); });
  wait_for(heard.buckets);
  stop(here, first_id);
  stop(there, second_id);
  EXPECT_TRUE(near.await_all(patience));
  EXPECT_TRUE(far.await_all(patience));

  const trace::Recording recording = recorder.snapshot();
  const auto answer =
      std::find_if(recording.spans.begin(), recording.spans.end(),
                   [&](const trace::Span& span) { return recording.names.at(span.name) == "BucketReduced"; });
  ASSERT_NE(answer, recording.spans.end());
  EXPECT_LE(answer->enqueue_ns, answer->start_ns);
  EXPECT_GE(answer->enqueue_ns, recording.spans.front().start_ns);
}

TEST(ActorCore, APortInUseIsAClearError) {
  SystemClock clock;
  World world{.clock = clock};
  ActorSystem system(world, {});
  std::promise<std::uint16_t> opened, refused;
  system.spawn_root(second_id, Threading::pool, [&](World& w) { return std::make_unique<Echo>(w, &opened); });
  const std::uint16_t port = wait_for(opened);
  World other_world{.clock = clock};
  ActorSystem other(other_world, {});

  other.spawn_root(first_id, Threading::pool,
                   [&](World& w) { return std::make_unique<Echo>(w, &refused, port); });

  EXPECT_THAT(test::error_of([&] { wait_for(refused); }, ErrorKind::environment),
              testing::HasSubstr(std::to_string(port)));
  stop(world, second_id);
  stop(other_world, first_id);
}

}  // namespace
}  // namespace d9d
