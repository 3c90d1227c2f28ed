#include "actors/event_bus.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/actor_world.hpp"

namespace d9d {
namespace {

using testing::ActorWorld;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr ActorId bus_id{Role::event_bus, 0};
constexpr ActorId first_id{Role::user, 0};
constexpr ActorId second_id{Role::user, 1};

class EventBusTest : public ::testing::Test {
 protected:
  EventBusTest() { world.play<EventBus>(bus_id); }
  void subscribe(ActorId who, const char* name) {
    world.say<wire::Subscribe>(
        bus_id, [&](wire::Subscribe::Builder message) { message.setName(name); }, who);
  }
  void publish(const char* name) {
    world.say<wire::Publish>(bus_id, [&](wire::Publish::Builder message) {
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

}  // namespace
}  // namespace d9d
