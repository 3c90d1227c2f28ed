// What happens to a frame before its handler: wrong ones are counted and dropped, and the actor lives on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "messages/cluster.capnp.h"
#include "messages/train.capnp.h"
#include "runtime/base/log.hpp"
#include "runtime/mesh/mesh.hpp"
#include "tests/support/actor_world.hpp"

namespace d9d {
namespace {

using test::ActorWorld;

constexpr ActorId echo_id{Role::probe, 1};
constexpr ActorId other_id{Role::probe, 2};

// Answers ReduceBucket; hears Tick of any epoch; throws on bucket 13.
class Echo final : public Actor {
 public:
  using Actor::Actor;
  void behavior(Handlers& handlers) override {
    handlers.on(this, &Echo::reduce_bucket);
    handlers.on_any_epoch(this, &Echo::tick);
    handlers.on(this, &Echo::bucket_reduced);
  }
  void reduce_bucket(wire::ReduceBucket::Reader message) {
    D9D_REQUIRE(message.getBucket() != 13, "bucket 13 is cursed");
    set_step(message.getStep());
    tell<wire::BucketReduced>(
        sender(), [&](wire::BucketReduced::Builder reply) { reply.setBucket(message.getBucket()); });
  }
  // Takes the numbers 100 and `bucket` as further ids.
  void bucket_reduced(wire::BucketReduced::Reader message) {
    for (const std::uint64_t index : {std::uint64_t{100}, std::uint64_t{message.getBucket()}}) {
      answer_to({Role::probe, index});
    }
  }
  void tick(wire::Tick::Reader message) {
    tell<wire::StartTraining>(
        sender(), [&](wire::StartTraining::Builder start) { start.setFirstStep(message.getValue()); });
  }
};

class DispatcherTest : public ::testing::Test {
 protected:
  DispatcherTest() {
    world.world().epoch = 2;
    world.play<Echo>(echo_id);
  }
  template <class T>
  void deliver(const Header& header) {
    world.deliver(encode<T>(header, [](auto) {}));
    world.run();
  }
  std::uint64_t refused() { return world.world().refused; }
  ActorWorld world;
};

TEST_F(DispatcherTest, AMessageOfAnotherEpochIsDroppedAndCounted) {
  deliver<wire::ReduceBucket>({.epoch = 1, .sender = other_id, .receiver = echo_id, .sequence = 1});
  deliver<wire::ReduceBucket>({.epoch = 3, .sender = other_id, .receiver = echo_id, .sequence = 2});

  EXPECT_TRUE(world.heard<wire::BucketReduced>().empty());
  EXPECT_EQ(refused(), 2U);
}

TEST_F(DispatcherTest, AMessageThatFormsAnEpochIsHeardWhateverItCarries) {
  deliver<wire::Tick>({.epoch = 9, .sender = other_id, .receiver = echo_id, .sequence = 1});

  EXPECT_EQ(world.heard<wire::StartTraining>().size(), 1U);
  EXPECT_EQ(refused(), 0U);
}

TEST_F(DispatcherTest, ARepeatedOrOlderMessageIsDroppedAndCounted) {
  for (const std::uint64_t sequence : {5, 5, 4, 6}) {
    deliver<wire::ReduceBucket>({.epoch = 2, .sender = other_id, .receiver = echo_id, .sequence = sequence});
  }

  EXPECT_EQ(world.heard<wire::BucketReduced>().size(), 2U);
  EXPECT_EQ(refused(), 2U);
}

TEST_F(DispatcherTest, InANewEpochANumberOfTheOneBeforeIsNoRepetition) {
  deliver<wire::ReduceBucket>({.epoch = 2, .sender = other_id, .receiver = echo_id, .sequence = 5});
  world.world().epoch = 3;

  for (int time = 0; time < 2; ++time) {
    deliver<wire::ReduceBucket>({.epoch = 3, .sender = other_id, .receiver = echo_id, .sequence = 1});
  }

  EXPECT_EQ(world.heard<wire::BucketReduced>().size(), 2U) << "one in each epoch";
  EXPECT_EQ(refused(), 1U);
}

TEST_F(DispatcherTest, AnActorCountsWhatItTellsAnewInEachEpoch) {
  world.say<wire::ReduceBucket>(echo_id);
  world.say<wire::ReduceBucket>(echo_id);
  EXPECT_EQ(world.told().back().header.sequence, 2U);

  world.world().epoch = 3;
  world.say<wire::ReduceBucket>(echo_id);

  EXPECT_EQ(world.heard<wire::BucketReduced>().size(), 3U);
  EXPECT_EQ(world.told().back().header.sequence, 1U);
}

// Logs where it starts and where it hears something.
class Talker final : public Actor {
 public:
  using Actor::Actor;
  void behavior(Handlers& handlers) override { handlers.on(this, &Talker::reduce_bucket); }
  void started() override { log::info("here"); }
  void reduce_bucket(wire::ReduceBucket::Reader message) {
    set_step(message.getStep());
    log::info("heard");
  }
};

// CORE-15
TEST_F(DispatcherTest, LinesOfARanksActorsCarryItsCoordinatesOnTheMesh) {
  const Mesh mesh({"pp", "dp_replicate", "tp"}, {2, 1, 2});
  world.world().coordinates = [&](int rank) { return mesh.label(rank); };
  ::testing::internal::CaptureStderr();

  world.play<Talker>({Role::rank_executor, 3});
  world.say<wire::ReduceBucket>({Role::rank_executor, 3},
                                [](wire::ReduceBucket::Builder reduce) { reduce.setStep(7); });
  world.play<Talker>({Role::tracker, 0});

  const std::string lines = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(lines, ::testing::HasSubstr("[rank_executor/3 pp:1-tp:1] here"));
  EXPECT_THAT(lines, ::testing::HasSubstr("[rank_executor/3 pp:1-tp:1, step 7] heard"));
  EXPECT_THAT(lines, ::testing::HasSubstr("[tracker/0] here")) << "it belongs to no rank";
}

// Somebody says on another connection, under the name of another sender, a number that this one has not used yet.
TEST_F(DispatcherTest, NumbersOfAnotherConnectionUseUpNone) {
  const auto say_on = [&](std::uint64_t connection, std::uint64_t sequence) {
    Frame frame = encode<wire::ReduceBucket>(
        {.epoch = 2, .sender = other_id, .receiver = echo_id, .sequence = sequence}, [](auto) {});
    frame.stamp_connection(connection);
    world.deliver(frame);
    world.run();
  };
  say_on(7, 1'000'000);

  for (const std::uint64_t sequence : {1, 2, 2}) say_on(6, sequence);

  EXPECT_EQ(world.heard<wire::BucketReduced>().size(), 3U);
  EXPECT_EQ(refused(), 1U) << "the second 2";
}

// Ticks are heard whatever number they bear: none of them may use up those of other messages.
TEST_F(DispatcherTest, AMessageThatFormsAnEpochUsesUpNoNumber) {
  deliver<wire::Tick>({.epoch = 2, .sender = other_id, .receiver = echo_id, .sequence = 1'000'000});
  deliver<wire::ReduceBucket>({.epoch = 2, .sender = other_id, .receiver = echo_id, .sequence = 1});

  EXPECT_EQ(world.heard<wire::BucketReduced>().size(), 1U);
  EXPECT_EQ(refused(), 0U);
}

TEST_F(DispatcherTest, SendersCountForThemselves) {
  deliver<wire::ReduceBucket>({.epoch = 2, .sender = other_id, .receiver = echo_id, .sequence = 7});
  deliver<wire::ReduceBucket>({.epoch = 2, .sender = {Role::probe, 3}, .receiver = echo_id, .sequence = 1});

  EXPECT_EQ(world.heard<wire::BucketReduced>().size(), 2U);
}

TEST_F(DispatcherTest, ATypeThatItDoesNotHearIsDroppedAndCounted) {
  deliver<wire::ApplyStep>({.epoch = 2, .sender = other_id, .receiver = echo_id, .sequence = 1});

  EXPECT_EQ(refused(), 1U);
  EXPECT_TRUE(world.heard<wire::Failed>().empty());
  EXPECT_TRUE(world.lives(echo_id));
}

TEST_F(DispatcherTest, AMessageForAnotherActorOfTheProcessIsPassedOnUnopened) {
  world.world().book.enter({Role::probe, 5}, world.ear());
  const Frame frame = encode<wire::ReduceBucket>(
      {.epoch = 1, .sender = other_id, .receiver = {Role::probe, 5}, .sequence = 1}, [](auto) {});
  world.world().book.find(echo_id)->deliver(frame, nullptr);
  world.run();

  EXPECT_EQ(world.heard<wire::ReduceBucket>(ActorId{Role::probe, 5}).size(), 2U) << "to Echo, then on";
  EXPECT_EQ(refused(), 0U);
}

TEST_F(DispatcherTest, AnActorAnswersToEveryIdItTookAndCountsEachForItself) {
  world.say<wire::BucketReduced>(echo_id, [](auto taken) { taken.setBucket(101); });
  for (const std::uint64_t index : {1, 100, 101}) {
    deliver<wire::ReduceBucket>(
        {.epoch = 2, .sender = other_id, .receiver = {Role::probe, index}, .sequence = 1});
  }

  EXPECT_EQ(world.heard<wire::BucketReduced>(other_id).size(), 3U);
  EXPECT_EQ(refused(), 0U);
}

TEST_F(DispatcherTest, AHandlerThatThrowsIsToldToTheParentAndTheActorIsGone) {
  world.say<wire::ReduceBucket>(echo_id, [](wire::ReduceBucket::Builder reduce) {
    reduce.setBucket(1);
    reduce.setStep(8);
  });
  world.say<wire::ReduceBucket>(echo_id, [](wire::ReduceBucket::Builder reduce) { reduce.setBucket(13); });

  const auto failed = world.last<wire::Failed>(ActorWorld::parent_id);
  EXPECT_EQ(std::string(failed->getText()), "bucket 13 is cursed");
  EXPECT_EQ(std::string(failed->getActor()), "probe/1");
  EXPECT_EQ(std::string(failed->getMessage()), "ReduceBucket");
  EXPECT_EQ(failed->getStep(), 8U);
  EXPECT_EQ(failed->getKind(), wire::Failed::Kind::INPUT);
  EXPECT_FALSE(world.lives(echo_id));
}

TEST_F(DispatcherTest, StopEndsAnActor) {
  world.say<wire::Stop>(echo_id);

  EXPECT_FALSE(world.lives(echo_id));
  EXPECT_TRUE(world.heard<wire::Failed>().empty());
}

// Tells a message of the size it is given.
class Shouter final : public Actor {
 public:
  using Actor::Actor;
  void behavior(Handlers& handlers) override { handlers.on(this, &Shouter::tick); }
  void tick(wire::Tick::Reader message) {
    tell<wire::Ready>(sender());
    tell<wire::StopNode>(sender(), [&](wire::StopNode::Builder stop) {
      stop.setReason(std::string(message.getValue(), 'x'));
    });
  }
};

TEST_F(DispatcherTest, AMessageThatNobodyWouldTakeFailsItsSenderAndNotItsReceiver) {
  world.play<Shouter>(other_id);

  world.say<wire::Tick>(other_id, [](wire::Tick::Builder tick) { tick.setValue(Limits{}.bytes_max); });

  const auto failed = world.last<wire::Failed>(ActorWorld::parent_id);
  EXPECT_EQ(std::string(failed->getActor()), "probe/2");
  EXPECT_NE(std::string(failed->getText()).find(std::to_string(Limits{}.bytes_max)), std::string::npos)
      << std::string(failed->getText());
  EXPECT_EQ(refused(), 0U);
}

// Sets itself a timer whenever it is told of a bucket, and goes on to step 7 with bucket 7.
class Sleeper final : public Actor {
 public:
  using Actor::Actor;
  void behavior(Handlers& handlers) override {
    handlers.on(this, &Sleeper::reduce_bucket);
    handlers.on(this, &Sleeper::stop_node);
    handlers.on(this, &Sleeper::tick);
  }
  void reduce_bucket(wire::ReduceBucket::Reader /*message*/) {
    tell_self_after<wire::Tick>(std::chrono::seconds(100), [](wire::Tick::Builder) {});
  }
  void stop_node(wire::StopNode::Reader /*message*/) { set_step(7); }
  void tick(wire::Tick::Reader /*message*/) {}
};

// Says Ready when it starts.
class Starter final : public Actor {
 public:
  using Actor::Actor;
  void behavior(Handlers& /*handlers*/) override {}
  void started() override { tell<wire::Ready>(parent()); }
};

class DispatcherTrace : public ::testing::Test {
 protected:
  DispatcherTrace() { world.play<Sleeper>(echo_id); }
  trace::Span span_of(const std::string& name) {
    const trace::Recording seen = recorder.snapshot();
    for (const trace::Span& span : seen.spans) {
      if (seen.names.at(span.name) == name) return span;
    }
    throw std::runtime_error("no span " + name);
  }
  trace::Recorder recorder;
  ActorWorld world{0, &recorder};
};

TEST_F(DispatcherTrace, ATimerWaitsForNobodyAndHasNoArrow) {
  world.say<wire::ReduceBucket>(echo_id);
  world.after(std::chrono::seconds(100));

  EXPECT_EQ(span_of("Tick").enqueue_ns, 0);
  EXPECT_EQ(span_of("Tick").flow_in, 0U) << "nothing joins it to the span that set it";
}

TEST_F(DispatcherTrace, ASpanHasTheStepOfItsMessageElseOfTheActorAfterwards) {
  world.say<wire::ReduceBucket>(echo_id, [](wire::ReduceBucket::Builder bucket) { bucket.setStep(9); });
  world.say<wire::StopNode>(echo_id);
  world.after(std::chrono::seconds(100));

  EXPECT_EQ(span_of("ReduceBucket").step, 9);
  EXPECT_EQ(span_of("StopNode").step, 7);
  EXPECT_EQ(span_of("Tick").step, 7);
}

TEST_F(DispatcherTrace, TheStartOfAnActorIsASpanThatItsFirstMessagesComeFrom) {
  world.play<Starter>(other_id);

  EXPECT_EQ(span_of("start").step, -1);
  const std::uint64_t said = world.last<wire::Ready>(ActorWorld::parent_id).flow();
  const trace::Recording seen = recorder.snapshot();
  EXPECT_NE(said, 0U);
  EXPECT_TRUE(std::any_of(seen.spans.begin(), seen.spans.end(), [&](const trace::Span& span) {
    return span.flow_out == said && seen.names.at(span.name) == "start";
  }));
}

TEST_F(DispatcherTrace, BeforeTheFirstStepASpanSaysSo) {
  world.say<wire::ReduceBucket>(echo_id);

  EXPECT_EQ(span_of("ReduceBucket").step, -1);
}

TEST_F(DispatcherTrace, AMessageFromElsewhereKeepsTheTimeWhenItWasSent) {
  const Frame made = encode<wire::ReduceBucket>(
      {.epoch = 0, .sender = other_id, .receiver = echo_id, .sequence = 1, .send_time_ns = 123, .flow = 5},
      [](auto) {});
  Frame frame = Frame::from_bytes(made.bytes(), made.size_bytes());
  frame.stamp_arrival(456);

  world.deliver(frame);
  world.run();

  EXPECT_EQ(span_of("ReduceBucket").enqueue_ns, 123);
  EXPECT_TRUE(span_of("ReduceBucket").sent_elsewhere);
}

TEST(AddressBook, AnActorElsewhereIsReachedThroughItsNode) {
  ActorWorld world;
  AddressBook book;
  const ActorId far{Role::rank_executor, 3};
  EXPECT_EQ(book.find(far), nullptr) << "nobody knows it yet";

  book.set_node_of([](ActorId id) { return id.role == Role::rank_executor ? 1 : AddressBook::unknown; });
  book.enter_node(1, world.ear());

  EXPECT_EQ(book.find(far), world.ear());
  EXPECT_EQ(book.find({Role::user, 3}), nullptr);
}

TEST(AddressBook, AnActorOfThisProcessComesFirstAndCanLeave) {
  ActorWorld here, there;
  AddressBook book;
  const ActorId id{Role::rank_executor, 3};
  book.set_node_of([](ActorId) { return 1; });
  book.enter_node(1, there.ear());
  book.enter(id, here.ear());

  EXPECT_EQ(book.find(id), here.ear());
  book.remove(id);
  EXPECT_EQ(book.find(id), there.ear());
  book.clear();
  EXPECT_EQ(book.find(id), nullptr);
}

}  // namespace
}  // namespace d9d
