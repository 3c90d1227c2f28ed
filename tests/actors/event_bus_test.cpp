#include "actors/event_bus.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/task/configuration_events.hpp"
#include "runtime/task/events.hpp"
#include "tests/support/actor_world.hpp"

namespace d9d {
namespace {

using test::ActorWorld;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr ActorId bus_id{Role::event_bus, 0};
constexpr ActorId first_id{Role::user, 0};
constexpr ActorId second_id{Role::user, 1};

class EventBusTest : public ::testing::Test {
 protected:
  EventBusTest() {
    AddressBook& book = world.world().book;
    for (const ActorId own : {first_id, second_id}) book.enter(own, book.find(own));  // actors of this node
    world.play<EventBus>(bus_id, std::size_t{2});
  }
  void subscribe(ActorId who, const char* name, bool every_rank = false, bool past = false) {
    world.say<wire::Subscribe>(
        bus_id,
        [&](wire::Subscribe::Builder message) {
          message.setName(name);
          message.setEveryRank(every_rank);
          message.setPast(past);
        },
        who);
  }
  void ask(std::uint32_t rank) {
    world.say<wire::AskForListeners>(
        bus_id, [&](wire::AskForListeners::Builder message) { message.setRank(rank); },
        ActorId{Role::trainer, rank});
  }
  std::vector<std::string> wanted_of(std::uint64_t rank) {
    std::vector<std::string> names;
    const auto told = world.last<wire::Listeners>(ActorId{Role::trainer, rank});
    for (const std::string name : told->getNames()) {
      if (!is_kept(name)) names.push_back(name);
    }
    return names;
  }
  static bool is_kept(const std::string& name) {
    return name.find(".configuration.") != std::string::npos || name.ends_with(".ready");
  }
  std::vector<std::string> heard_by(ActorId who) {
    std::vector<std::string> names;
    for (const auto& event : world.heard<wire::Event>(who))
      names.push_back(std::string(event->getName()) + " " + std::to_string(event->getRank()));
    return names;
  }
  void publish(const char* name, std::uint32_t rank = 0) {
    world.say<wire::Publish>(bus_id, [&](wire::Publish::Builder message) {
      message.setRank(rank);
      message.setName(name);
      message.setStep(3);
      message.setContext("{}");
    });
  }
  std::vector<ActorId> listeners() {
    std::vector<ActorId> all;
    for (const auto& event : world.heard<wire::Event>()) all.push_back(event.to());
    return all;
  }
  ActorWorld world;
};

TEST_F(EventBusTest, EveryEventOfTheCatalogueReachesItsSubscriber) {
  for (const std::string& name : event_catalogue()) {
    subscribe(first_id, name.c_str());
    publish(name.c_str());

    const auto event = world.last<wire::Event>(first_id);
    EXPECT_EQ(std::string(event->getName()), name);
    EXPECT_EQ(event->getStep(), 3U);
  }
  EXPECT_EQ(listeners().size(), event_catalogue().size());
}

TEST_F(EventBusTest, SubscribersHearInTheOrderOfTheirSubscription) {
  subscribe(second_id, "*");
  subscribe(first_id, "train.step.post");
  publish("train.step.post");

  EXPECT_THAT(listeners(), ElementsAre(second_id, first_id));
}

TEST_F(EventBusTest, WhoSubscribesTwiceHearsOnce) {
  subscribe(first_id, "train.ready");
  subscribe(first_id, "train.ready");
  subscribe(first_id, "*");
  publish("train.ready");

  EXPECT_THAT(listeners(), ElementsAre(first_id));
}

TEST_F(EventBusTest, OthersHearNothing) {
  subscribe(first_id, "train.ready");
  publish("train.finished");

  EXPECT_TRUE(listeners().empty());
}

TEST_F(EventBusTest, AnUnknownNameIsTheSubscribersFault) {
  subscribe(first_id, "train.stepp");

  EXPECT_EQ(world.last<wire::Failed>()->getKind(), wire::Failed::Kind::INPUT);
  EXPECT_THAT(std::string(world.last<wire::Failed>()->getText()),
              AllOf(HasSubstr("train.stepp"), HasSubstr("train.step.pre, "), HasSubstr("job.failed")));
}

TEST_F(EventBusTest, AnUnknownNameIsThePublishersFault) {
  publish("train.stepp");

  EXPECT_EQ(world.last<wire::Failed>()->getKind(), wire::Failed::Kind::INPUT);
}

TEST_F(EventBusTest, OtherRanksAreHeardByThoseWhoAskForEveryRank) {
  subscribe(first_id, "train.step.post");
  subscribe(second_id, "train.step.post", true);
  publish("train.step.post", 3);

  EXPECT_THAT(listeners(), ElementsAre(second_id));
  EXPECT_EQ(world.last<wire::Event>(second_id)->getRank(), 3U);
}

TEST_F(EventBusTest, WhoSubscribesLateMayAskForHowTheJobBegan) {
  publish("train.configuration.start");
  publish("train.configuration.start", 1);
  publish("train.configuration.optimizer");
  publish("train.ready");
  publish("train.step.post");

  subscribe(first_id, "train.ready");
  EXPECT_TRUE(heard_by(first_id).empty()) << "it did not ask";
  subscribe(first_id, "*", false, true);
  subscribe(second_id, "train.configuration.start", true, true);
  subscribe(second_id, "train.ready", true, true);
  subscribe(second_id, "*", true, true);

  const auto beginning =
      ElementsAre("train.configuration.start 0", "train.configuration.optimizer 0", "train.ready 0");
  EXPECT_THAT(heard_by(first_id), beginning) << "in their order, of steps nothing";
  EXPECT_EQ(world.last<wire::Event>(first_id)->getStep(), 3U);
  EXPECT_THAT(heard_by(second_id), ElementsAre("train.configuration.start 0", "train.configuration.start 1",
                                               "train.ready 0", "train.configuration.optimizer 0"))
      << "each once";
}

TEST_F(EventBusTest, WhoHeardHowTheJobBeganDoesNotHearItAgain) {
  subscribe(first_id, "train.ready");
  publish("train.configuration.start");
  publish("train.ready");

  subscribe(first_id, "*", false, true);

  EXPECT_THAT(heard_by(first_id), ElementsAre("train.ready 0", "train.configuration.start 0"));
}

TEST_F(EventBusTest, HearsOfARanksBeginningWhetherOrNotSomebodyListens) {
  ask(1);

  std::vector<std::string> names;
  const auto told = world.last<wire::Listeners>(ActorId{Role::trainer, 1});
  for (const std::string name : told->getNames()) names.push_back(name);
  EXPECT_THAT(names, AllOf(::testing::Contains("train.ready"), ::testing::Contains("inference.ready"),
                           ::testing::Contains("train.configuration.start")));
  EXPECT_THAT(names, ::testing::Not(::testing::Contains("train.step.post")));
}

TEST_F(EventBusTest, TellsRanksWhatSomebodyWantsToHearOfThem) {
  ask(0);
  ask(1);
  EXPECT_TRUE(wanted_of(0).empty());

  subscribe(first_id, "train.step.post");
  EXPECT_THAT(wanted_of(0), ElementsAre("train.step.post"));
  EXPECT_TRUE(wanted_of(1).empty());
  subscribe(second_id, "*", true);

  EXPECT_THAT(wanted_of(0), ElementsAre("*", "train.step.post"));
  EXPECT_THAT(wanted_of(1), ElementsAre("*"));
}

// Behind the events of before, so that who handles it has handled those.
TEST_F(EventBusTest, PassesTheLastEventsAndTheStopOnToEveryOwnActor) {
  subscribe(second_id, "train.finished");
  world.say<wire::FlushEvents>(bus_id, [](wire::FlushEvents::Builder flush) { flush.setActors(2); });
  EXPECT_EQ(world.heard<wire::FlushEvents>(first_id).size(), 1U) << "it may be behind in other messages";
  EXPECT_EQ(world.heard<wire::FlushEvents>(second_id).size(), 1U);

  publish("train.exported");
  world.say<wire::Stop>(bus_id);

  EXPECT_EQ(world.heard<wire::Stop>(first_id).size(), 1U);
  EXPECT_EQ(world.heard<wire::Stop>(second_id).size(), 1U);
  EXPECT_FALSE(world.lives(bus_id));
}

TEST_F(EventBusTest, AnswersForAnOwnActorThatHasFinished) {
  world.world().book.remove(second_id);
  world.say<wire::FlushEvents>(bus_id, [](wire::FlushEvents::Builder flush) { flush.setActors(2); });

  EXPECT_EQ(world.heard<wire::FlushEvents>(first_id).size(), 1U);
  EXPECT_EQ(world.last<wire::EventsHeard>()->getActor(), 1U);
}

template <class... Event>
std::vector<std::string> names_of() {
  std::vector<std::string> names;
  for (const auto name : {Event::train..., Event::infer...}) {
    if (!name.empty()) names.emplace_back(name);
  }
  return names;
}

TEST(EventCatalogue, HasTheEventsThatTasksHear) {
  const auto& all = event_catalogue();
  const auto names =
      names_of<events::ConfigurationStart, events::ConfigurationDataStream, events::ConfigurationModelStages,
               events::ConfigurationOptimizer, events::ConfigurationLrScheduler, events::Ready,
               events::StepPre, events::StepPost, events::ForwardPre, events::ForwardPost,
               events::OptimizerStepPre, events::OptimizerStepPost, events::SleepPre, events::SleepPost,
               events::WakePre, events::WakePost, events::Finished>();
  EXPECT_EQ(names.size(), 26U) << "reference, appendix B";
  for (const std::string& name : names) EXPECT_THAT(all, ::testing::Contains(name));
  for (const std::string& name : names_of<events::EvaluationPre, events::EvaluationPost>())
    EXPECT_THAT(all, ::testing::Contains(name)) << "beyond the original";
}

TEST_F(EventBusTest, AsksThoseForTheirStateThatKeepOneBehindTheirEvents) {
  world.say<wire::Subscribe>(
      bus_id,
      [](wire::Subscribe::Builder message) {
        message.setName("train.step.post");
        message.setDecides(true);
        message.setKeepsState(true);
      },
      second_id);
  subscribe(first_id, "train.step.post");
  ask(0);
  ask(1);
  world.say<wire::KeepState>(
      bus_id, [](wire::KeepState::Builder keep) { keep.setStep(7); }, ActorId{Role::trainer, 0});

  EXPECT_TRUE(world.heard<wire::KeepState>(first_id).empty());
  EXPECT_EQ(world.last<wire::KeepState>(second_id)->getStep(), 7U);
  const auto first_rank = world.last<wire::Listeners>(ActorId{Role::trainer, 0});
  ASSERT_EQ(first_rank->getDeciding().size(), 1U);
  EXPECT_EQ(first_rank->getDeciding()[0], second_id.packed());
  EXPECT_EQ(first_rank->getKeeping()[0], second_id.packed());
  EXPECT_EQ(world.last<wire::Listeners>(ActorId{Role::trainer, 1})->getDeciding().size(), 0U);
}

}  // namespace
}  // namespace d9d
