#include "actors/step_actor.hpp"

#include <gmock/gmock.h>

#include "actors/job/own_actor.hpp"
#include "actors/text_messages.hpp"
#include "messages/checkpoint.capnp.h"
#include "messages/metrics.capnp.h"
#include "tests/support/actor_world.hpp"
#include "tests/support/error_of.hpp"

namespace d9d {

struct Follower final : StepActor {
  using StepActor::StepActor;
  Count every = 2;
  std::vector<std::string> prompts = {"5 9"};
  std::vector<StepDone> steps;
  void prepare() { set_prompts(prompts, std::nullopt, 4); }
  void step_done(const StepDone& step) override {
    steps.push_back(step);
    if (!step.loss) roll_back(step.number);
    if (step.number % every == 0) ask_for_texts();
  }
  void texts_came(std::uint64_t step, const std::vector<std::string>& texts) override {
    for (const std::string& text : texts) show(step, "texts", text);
    show(step, "count", static_cast<double>(texts.size()));
  }
};
BOOST_DESCRIBE_STRUCT(Follower, (), (every, prompts))

namespace {

using testing::ActorWorld;
using ::testing::HasSubstr;

constexpr ActorId follower_id{Role::user, 0};
constexpr ActorId first_trainer{Role::trainer, 0};
constexpr ActorId the_tracker{Role::tracker, 0};

std::unique_ptr<Actor> made_of(World& world, const std::string& keys) {
  ActorRegistry registry;
  add_actor<Follower>(registry, "follower");
  return registry.find("follower")(world, {config::parse(keys, "job.yaml"), "actors.0"});
}

class PlayedFollower : public ::testing::Test {
 protected:
  PlayedFollower() { world.play<Prepared>(follower_id); }
  struct Prepared : StepActor {
    explicit Prepared(World& world) : StepActor(world) { set_prompts({"5 9"}, std::nullopt, 4); }
    void step_done(const StepDone& step) override {
      if (!step.loss) roll_back(step.number);
      if (step.number == 2) ask_for_texts();
    }
    void texts_came(std::uint64_t step, const std::vector<std::string>& texts) override {
      for (const std::string& text : texts) show(step, "texts", text);
      show(step, "count", static_cast<double>(texts.size()));
    }
  };
  void step(std::uint64_t number, const char* context) {
    world.say<wire::Event>(follower_id, [&](wire::Event::Builder event) {
      event.setName("train.step.post");
      event.setStep(number);
      event.setContext(context);
    });
  }
  ActorWorld world;
};

TEST_F(PlayedFollower, SubscribesAndAsksForWhatItWants) {
  EXPECT_EQ(world.heard<wire::Subscribe>().size(), 1U);

  step(1, R"({"loss":2.5,"grad_norm":1.0})");
  EXPECT_TRUE(world.heard<wire::RollBack>().empty());
  EXPECT_TRUE(world.heard<wire::GenerateTexts>().empty());
  step(2, R"({"loss":null,"grad_norm":null,"skipped":true})");

  EXPECT_EQ(world.last<wire::RollBack>(first_trainer)->getBefore(), 2U);
  const auto asked = world.last<wire::GenerateTexts>(first_trainer);
  const TextRequest request = text_request_of(asked.operator->().reader);
  EXPECT_EQ(request.prompts, (std::vector<std::vector<std::int64_t>>{{5, 9}}));
  EXPECT_EQ(request.options.max_new_tokens, 4);
}

TEST_F(PlayedFollower, ShowsTheTextsThatCome) {
  world.say<wire::TextsGenerated>(follower_id, [](wire::TextsGenerated::Builder message) {
    message.setStep(7);
    fill_texts(message, {{1, 2, 3}});
  });

  const auto shown = world.heard<wire::RecordValue>(the_tracker);
  ASSERT_EQ(shown.size(), 2U);
  EXPECT_EQ(shown[0]->getText(), "1 2 3");
  EXPECT_EQ(shown[0]->getStep(), 7U);
  EXPECT_EQ(shown[1]->getNumber(), 1);
}

// The Coordinator waits for it before the run's numbers are closed.
TEST_F(PlayedFollower, AnswersThatItHasHandledItsEvents) {
  step(1, R"({"loss":2.5,"grad_norm":1.0})");
  world.say<wire::FlushEvents>(follower_id);

  EXPECT_EQ(world.last<wire::EventsHeard>(ActorId{Role::coordinator, 0})->getActor(), follower_id.index);
}

TEST(StepActor, IsMadeOfItsDescribedMembers) {
  ActorWorld actors;

  const auto made = made_of(actors.world(), "{every: 3}");

  EXPECT_EQ(dynamic_cast<Follower&>(*made).every, 3);
  EXPECT_THAT(test::error_of([&] { made_of(actors.world(), "{evry: 3}"); }),
              HasSubstr("actors.0.evry: unknown key; did you mean \"every\"?"));
  EXPECT_THAT(test::error_of([&] { made_of(actors.world(), "{every: 0}"); }),
              HasSubstr("actors.0.every: expected a whole number of at least 1"));
  EXPECT_THAT(test::error_of([&] { made_of(actors.world(), "{prompts: [and]}"); }),
              HasSubstr("\"and\" is no list of token ids"));
}

}  // namespace
}  // namespace d9d
