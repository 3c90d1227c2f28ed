#include "actors/loader.hpp"

#include <gtest/gtest.h>

#include "tests/support/actor_world.hpp"

namespace d9d {
namespace {

using test::ActorWorld;

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

}  // namespace
}  // namespace d9d
