#include "actors/loader.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "actors/notes/text_messages.hpp"
#include "tests/support/actor_world.hpp"

namespace d9d {
namespace {

using test::ActorWorld;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr ActorId loader_id{Role::loader, 0};
constexpr ActorId trainer_id{Role::trainer, 0};

// Two microbatches a step, up to the last step; one of them throws.
class Feed final : public MicrobatchFeed {
 public:
  explicit Feed(std::uint64_t last) : last_(last) {}
  std::optional<StepInputs> load(std::uint64_t step) override {
    if (step > last_) return std::nullopt;
    if (step == bad_step) throw Error(ErrorKind::environment, "the task's build_forward_inputs threw");
    const auto slot = static_cast<std::uint32_t>(10 * step);
    return StepInputs{.microbatches = {{slot, 1}, {slot + 1, 1}},
                      .tokens = 64,
                      .flops = 640,
                      .next_sample = step * 16,
                      .stream_state = fmt::format("{{\"replica\":{}}}", step),
                      .is_last = step == last_};
  }
  static constexpr std::uint64_t bad_step = 8;

 private:
  const std::uint64_t last_;
};

class LoaderTest : public ::testing::Test {
 protected:
  LoaderTest() {
    world.play<Loader>(loader_id, [] { return std::make_unique<Feed>(5); });
  }
  void grant(std::uint64_t step, std::uint32_t credits) {
    world.say<wire::LoadBatches>(
        loader_id,
        [&](wire::LoadBatches::Builder load) {
          load.setStep(step);
          load.setCredits(credits);
        },
        trainer_id);
  }
  std::vector<std::uint64_t> steps() {
    std::vector<std::uint64_t> all;
    for (const auto& ready : world.heard<wire::BatchReady>(trainer_id)) all.push_back(ready->getStep());
    return all;
  }
  ActorWorld world;
};

TEST_F(LoaderTest, OpensItsDataAndSaysReadyBeforeAnyoneAsks) {
  EXPECT_EQ(world.heard<wire::Ready>().size(), 1U);
  EXPECT_TRUE(steps().empty());
}

// LOOP-91: as many steps as data_prefetch allows, and no more.
TEST_F(LoaderTest, LoadsAsFarAsItsCreditsGo) {
  grant(1, 2);
  EXPECT_EQ(steps(), (std::vector<std::uint64_t>{1, 2}));

  grant(3, 1);

  EXPECT_EQ(steps(), (std::vector<std::uint64_t>{1, 2, 3}));
  const auto ready = world.last<wire::BatchReady>();
  ASSERT_EQ(ready->getMicrobatches().size(), 2U);
  EXPECT_EQ(ready->getMicrobatches()[1], (Ticket{31, 1}.packed()));
  EXPECT_EQ(ready->getTokens(), 64U);
  EXPECT_EQ(ready->getFlops(), 640);
  EXPECT_EQ(ready->getNextSample(), 48U);
  EXPECT_EQ(std::string(ready->getStreamState()), R"({"replica":3})");
  EXPECT_FALSE(ready->getIsLast());
}

TEST_F(LoaderTest, StartsAtTheStepOfAResumedJob) {
  grant(4, 1);

  EXPECT_EQ(steps(), (std::vector<std::uint64_t>{4}));
}

TEST_F(LoaderTest, AStepThatIsAskedForTwiceOrLeftOutIsABug) {
  grant(1, 2);
  grant(2, 1);

  EXPECT_EQ(world.last<wire::Failed>()->getKind(), wire::Failed::Kind::BUG);
  EXPECT_EQ(steps(), (std::vector<std::uint64_t>{1, 2}));
}

TEST_F(LoaderTest, AnExceptionWhileInputsAreMadeFailsWithItsStep) {
  Loader::MakeFeed longer = [] { return std::make_unique<Feed>(9); };
  world.play<Loader>(ActorId{Role::loader, 1}, longer);
  world.say<wire::LoadBatches>(
      ActorId{Role::loader, 1},
      [](wire::LoadBatches::Builder load) {
        load.setStep(Feed::bad_step - 1);
        load.setCredits(2);
      },
      trainer_id);

  const auto failed = world.last<wire::Failed>();
  EXPECT_EQ(std::string(failed->getText()), "the task's build_forward_inputs threw");
  EXPECT_EQ(failed->getStep(), static_cast<std::int64_t>(Feed::bad_step));
}

// LOOP-91.
TEST_F(LoaderTest, SaysWhereTheDataEndsInsteadOfABatch) {
  grant(4, 3);

  EXPECT_EQ(steps(), (std::vector<std::uint64_t>{4, 5}));
  EXPECT_TRUE(world.last<wire::BatchReady>()->getIsLast());
  EXPECT_EQ(world.last<wire::DataEnded>(trainer_id)->getStep(), 6U);
  EXPECT_EQ(world.heard<wire::DataEnded>().size(), 1U);
}

TEST(Loader, DataThatCannotBeOpenedFailsWithItsText) {
  ActorWorld world;
  world.play<Loader>(loader_id, []() -> std::unique_ptr<MicrobatchFeed> {
    throw Error(ErrorKind::input, "no such file: tokens.npy");
  });

  const auto failed = world.last<wire::Failed>();
  EXPECT_EQ(std::string(failed->getText()), "no such file: tokens.npy");
  EXPECT_EQ(failed->getKind(), wire::Failed::Kind::INPUT);
  EXPECT_TRUE(world.heard<wire::Ready>().empty());
}

// Two texts a step: its number, and ten times it.
class RolloutFeed final : public MicrobatchFeed, private RolloutNeeds {
 public:
  RolloutFeed(std::uint64_t lag, std::uint64_t first_step, std::uint64_t here,
              std::vector<std::string>& calls)
      : lag_(lag), asked_(first_step - 1 + here), written_(asked_), calls_(calls) {}
  std::optional<StepInputs> load(std::uint64_t step) override {
    EXPECT_GE(written_, step);
    calls_.push_back("load " + std::to_string(step));
    return StepInputs{.microbatches = {{static_cast<std::uint32_t>(step), 1}}};
  }
  RolloutNeeds* rollouts() override { return this; }

 private:
  std::uint64_t lag() const override { return lag_; }
  std::uint64_t asked() const override { return asked_; }
  std::uint64_t written() const override { return written_; }
  TextRequest ask() override {
    const auto step = static_cast<std::int64_t>(++asked_);
    calls_.push_back("ask " + std::to_string(step));
    return {.prompts = {{step}, {10 * step}}, .options = {}, .first = 2 * asked_};
  }
  void write(Texts texts) override {
    ++written_;
    calls_.push_back(fmt::format("write {} {}", texts[0].ids[0], texts[1].log_probs[0]));
  }
  std::string stream_state() const override { return fmt::format("[{}]", written_); }

  const std::uint64_t lag_;
  std::uint64_t asked_, written_;
  std::vector<std::string>& calls_;
};

class RolloutLoaderTest : public LoaderTest {
 protected:
  void play(std::uint64_t lag, std::uint64_t first_step = 1, std::uint64_t here = 0) {
    id_ = {Role::loader, 1};
    world.play<Loader>(id_, Loader::MakeFeed([=, this] {
                         return std::make_unique<RolloutFeed>(lag, first_step, here, calls);
                       }));
  }
  void ask_for(std::uint64_t step, std::uint32_t credits) {
    world.say<wire::LoadBatches>(
        id_,
        [&](wire::LoadBatches::Builder load) {
          load.setStep(step);
          load.setCredits(credits);
        },
        trainer_id);
  }
  void written(std::uint64_t step) {
    world.say<wire::RolloutsWritten>(id_, [&](wire::RolloutsWritten::Builder message) {
      message.setStep(step);
      fill_texts(message, Texts{{{5}, {-1}}, {{6}, {-2}}});
    });
  }
  // "step after", of each request.
  std::vector<std::string> requests() {
    std::vector<std::string> all;
    for (const auto& write : world.heard<wire::WriteRollouts>(trainer_id))
      all.push_back(fmt::format("{} {}", write->getStep(), write->getAfter()));
    return all;
  }
  std::string failure() { return std::string(world.last<wire::Failed>()->getText()); }

  ActorId id_;
  std::vector<std::string> calls;
};

TEST_F(RolloutLoaderTest, OnPolicyEachStepIsWrittenByTheWeightsOfTheStepBeforeHoweverFarItLoadsAhead) {
  play(0);
  ask_for(1, 3);
  EXPECT_THAT(requests(), ElementsAre("1 0"));
  EXPECT_EQ(world.last<wire::WriteRollouts>()->getFirst(), 2U);
  EXPECT_EQ(world.last<wire::WriteRollouts>()->getPrompts()[1].getIds()[0], 10);
  EXPECT_TRUE(steps().empty());

  written(1);

  EXPECT_THAT(steps(), ElementsAre(1));
  EXPECT_EQ(std::string(world.last<wire::BatchReady>()->getStreamState()), "[1]");
  EXPECT_THAT(requests(), ElementsAre("1 0", "2 1"));
  written(2);
  EXPECT_THAT(steps(), ElementsAre(1, 2));
  EXPECT_THAT(calls, ElementsAre("ask 1", "write 5 -2", "load 1", "ask 2", "write 5 -2", "load 2", "ask 3"));
}

TEST_F(RolloutLoaderTest, WithALagItMakesAStepWhileTheStepBeforeTrainsAndKeepsItUntilTheNextTextsAreThere) {
  play(1);
  ask_for(1, 2);
  EXPECT_THAT(requests(), ElementsAre("1 0", "2 0"));
  written(1);
  EXPECT_THAT(calls, ElementsAre("ask 1", "ask 2", "write 5 -2", "load 1"));
  EXPECT_TRUE(steps().empty()) << "step 1 would change the weights that have to write for step 2";

  written(2);

  EXPECT_THAT(steps(), ElementsAre(1));
  EXPECT_EQ(std::string(world.last<wire::BatchReady>()->getStreamState()), "[2]");
  EXPECT_THAT(requests(), ElementsAre("1 0", "2 0", "3 1"));
  EXPECT_EQ(calls.back(), "load 2") << "its rewards are computed while step 1 trains";
  written(3);
  EXPECT_THAT(steps(), ElementsAre(1, 2));
}

TEST_F(RolloutLoaderTest, AResumedJobGoesOnWithTheTextsOfItsCheckpoint) {
  play(1, 5, 1);
  ask_for(5, 1);

  EXPECT_THAT(requests(), ElementsAre("6 4"));
  EXPECT_THAT(calls, ElementsAre("ask 6", "load 5"));
  written(6);
  EXPECT_THAT(steps(), ElementsAre(5));
}

TEST_F(RolloutLoaderTest, WhereNoTextsComeAnyMoreTheDataEnds) {
  play(0);
  ask_for(1, 2);
  world.say<wire::RolloutsWritten>(id_, [&](wire::RolloutsWritten::Builder message) {
    message.setStep(1);
    message.setCancelled(true);
  });

  EXPECT_EQ(world.last<wire::DataEnded>(trainer_id)->getStep(), 1U);
  EXPECT_TRUE(steps().empty());
}

TEST_F(RolloutLoaderTest, TextsThatNobodyWaitsForAreABug) {
  play(0);
  ask_for(1, 1);
  written(2);

  EXPECT_THAT(failure(), HasSubstr("the texts of step 2 came, and nobody waits for them"));
}

}  // namespace
}  // namespace d9d
