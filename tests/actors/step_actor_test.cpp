#include "actors/step_actor.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "actors/job/own_actor.hpp"
#include "actors/notes/text_messages.hpp"
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

using test::ActorWorld;
using ::testing::HasSubstr;

constexpr ActorId follower_id{Role::user, 0};
constexpr ActorId first_trainer{Role::trainer, 0};
constexpr ActorId the_tracker{Role::tracker, 0};

std::unique_ptr<Actor> made_of(World& world, const std::string& keys) {
  ActorRegistry registry;
  add_actor<Follower>(registry, "follower");
  return registry.find("follower")(world, {config::parse(keys, "job.yaml"), "actors.0"});
}

struct PlainFollower final : StepActor {
  using StepActor::StepActor;
};

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
  EXPECT_EQ(world.heard<wire::Subscribe>().size(), 2U);
  EXPECT_FALSE(world.last<wire::Subscribe>()->getDecides());
  EXPECT_FALSE(world.last<wire::Subscribe>()->getKeepsState());

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
    fill_texts(message, Texts{WrittenText{{1, 2, 3}}});
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

struct Decider : StepActor {
  explicit Decider(World& world) : StepActor(world) {}
  bool decides() const override { return true; }
  std::optional<nlohmann::json> state() const override { return nlohmann::json{best}; }
  void load_state(const nlohmann::json& state) override { best = state.at(0); }
  void evaluation_done(const EvaluationDone& evaluation) override {
    if (!evaluation.loss) return end_job("no loss");
    best = *evaluation.loss;
    set_lr_factor(evaluation.metrics.at("accuracy"));
  }
  void step_done(const StepDone& step) override {
    if (step.number == 9) set_lr_factor(-1);
  }
  double best = 0;
};

class PlayedDecider : public ::testing::Test {
 protected:
  PlayedDecider() { world.play<Decider>(follower_id); }
  void hear(const char* name, std::uint64_t step, const char* context) {
    world.say<wire::Event>(follower_id, [&](wire::Event::Builder event) {
      event.setName(name);
      event.setStep(step);
      event.setContext(context);
    });
  }
  ActorWorld world;
};

TEST_F(PlayedDecider, SaysWhatItAsksForBeforeItSaysThatItHasHeard) {
  EXPECT_TRUE(world.last<wire::Subscribe>()->getDecides());
  EXPECT_TRUE(world.last<wire::Subscribe>()->getKeepsState());
  hear("train.step.post", 1, R"({"loss":2.5,"grad_norm":1.0})");
  EXPECT_EQ(world.last<wire::EventsFollowed>(first_trainer)->getEvents(), 1U);
  world.forget();
  hear("train.evaluation.post", 1, R"({"loss":0.1,"metrics":{"accuracy":0.5,"other":null}})");

  const auto& told = world.told();
  const auto place_of = [&](std::uint64_t type) {
    return std::find_if(told.begin(), told.end(), [&](const auto& each) { return each.type == type; }) -
           told.begin();
  };
  EXPECT_EQ(world.last<wire::ScaleLearningRate>(first_trainer)->getFactor(), 0.5);
  EXPECT_EQ(world.last<wire::EventsFollowed>(first_trainer)->getEvents(), 2U);
  EXPECT_LT(place_of(capnp::typeId<wire::ScaleLearningRate>()),
            place_of(capnp::typeId<wire::EventsFollowed>()));
}

TEST_F(PlayedDecider, EndsTheJobWithItsReason) {
  hear("train.evaluation.post", 4, R"({"loss":null,"metrics":{}})");

  EXPECT_EQ(std::string(world.last<wire::EndJob>(first_trainer)->getReason()), "no loss");
}

TEST_F(PlayedDecider, GivesItsStateBitForBit) {
  hear("train.evaluation.post", 4, R"({"loss":0.30000000000000004,"metrics":{"accuracy":1.0}})");
  world.say<wire::KeepState>(follower_id, [](wire::KeepState::Builder keep) { keep.setStep(4); });

  const auto kept = world.last<wire::StateKept>(first_trainer);
  EXPECT_EQ(kept->getStep(), 4U);
  EXPECT_EQ(kept->getActor(), follower_id.packed());
  EXPECT_EQ(nlohmann::json::parse(kept->getState().cStr()).at(0).get<double>(), 0.1 + 0.2);
}

struct BestLoss : StepActor {
  explicit BestLoss(World& world, double first) : StepActor(world), best(first) {}
  std::optional<nlohmann::json> state() const override { return nlohmann::json{{"best", best}}; }
  void step_done(const StepDone& /*step*/) override { best = std::numeric_limits<double>::quiet_NaN(); }
  double best;
};

// JSON would make null of infinity and NaN, and no later start could read the checkpoint.
TEST(StepActor, WhoseStateIsNoNumberFailsAtItsStartOrAtTheCheckpoint) {
  ActorWorld early, late;
  early.world().activities.label(follower_id, "best");
  early.play<BestLoss>(follower_id, std::numeric_limits<double>::infinity());
  late.play<BestLoss>(follower_id, 2.5);
  EXPECT_TRUE(late.heard<wire::Failed>().empty());
  late.say<wire::Event>(follower_id, [](wire::Event::Builder event) {
    event.setName("train.step.post");
    event.setStep(4);
    event.setContext(R"({"loss":2.5,"grad_norm":1.0})");
  });
  EXPECT_TRUE(late.heard<wire::Failed>().empty());
  late.say<wire::KeepState>(follower_id, [](wire::KeepState::Builder keep) { keep.setStep(4); });

  EXPECT_THAT(std::string(early.last<wire::Failed>()->getText()),
              HasSubstr("user/0 (best) threw: its state() holds infinity at /best, which JSON cannot hold"));
  EXPECT_THAT(std::string(late.last<wire::Failed>()->getText()), HasSubstr("its state() holds NaN at /best"));
  EXPECT_TRUE(late.heard<wire::StateKept>().empty());
}

// A user's code is no bug of d9d.
TEST_F(PlayedDecider, WhatItThrowsNamesTheActorAndTheStep) {
  world.world().activities.label(follower_id, "decider");
  hear("train.step.post", 9, R"({"loss":2.5,"grad_norm":1.0})");

  const auto failed = world.last<wire::Failed>();
  EXPECT_THAT(std::string(failed->getText()), HasSubstr("user/0 (decider) threw: a learning rate times -1"));
  EXPECT_EQ(failed->getStep(), 9U);
  EXPECT_NE(failed->getKind(), wire::Failed::Kind::BUG);
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

TEST(StepActor, HasNoStepZeroToGoBackTo) {
  struct Open : StepActor {
    using StepActor::roll_back;
    using StepActor::StepActor;
  };
  ActorWorld actors;
  Open actor(actors.world());

  EXPECT_THAT(test::error_of([&] { actor.roll_back(0); }, ErrorKind::input), HasSubstr("roll_back(0)"));
}

TEST(StepActor, TakesNoPromptThatTheModelCannotRead) {
  ActorWorld actors;
  const auto made = made_of(actors.world(), "{prompts: [1 2, 3 300]}");
  auto& follower = dynamic_cast<Follower&>(*made);
  follower.set_vocabulary(std::nullopt);
  follower.set_vocabulary(301);

  EXPECT_THAT(
      test::error_of([&] { follower.set_vocabulary(300); }, ErrorKind::input),
      HasSubstr("prompt 1 of set_prompts() holds the token 300; expected at least 0 and less than 300"));
  EXPECT_THAT(test::error_of([&] { follower.prepare(); }, ErrorKind::input), HasSubstr("the token 300"));
}

TEST(StepActor, SaysWhichTextsItAsksForBeforeItStarts) {
  ActorWorld actors;
  const auto made = made_of(actors.world(), "{prompts: [1 2, 3 4 5]}");
  const PlainFollower plain(actors.world());

  const TextRequest& request = dynamic_cast<Follower&>(*made).texts_asked_for();

  EXPECT_THAT(request.prompts, ::testing::ElementsAre(::testing::SizeIs(2), ::testing::SizeIs(3)));
  EXPECT_EQ(request.options.max_new_tokens, 4);
  EXPECT_TRUE(plain.texts_asked_for().prompts.empty());
}

TEST(ActorRegistry, TakesNoEmptyName) {
  ActorRegistry registry;

  EXPECT_THAT(test::error_of([&] { add_actor<Follower>(registry, ""); }, ErrorKind::input),
              HasSubstr("an actor is registered under an empty name"));
}

}  // namespace
}  // namespace d9d
