#include "actors/loader.hpp"

#include <gtest/gtest.h>

#include "tests/support/actor_world.hpp"

namespace d9d {
namespace {

using testing::ActorWorld;

constexpr ActorId kLoader{Role::loader, 0};
constexpr ActorId kTrainer{Role::trainer, 0};

// Packs of steps up to the last one.
class Feed final : public BatchFeed {
 public:
  explicit Feed(std::uint64_t last) : last_(last) {}
  std::optional<StepBatch> load(std::uint64_t step) override {
    if (step > last_) return std::nullopt;
    return StepBatch{{static_cast<std::uint32_t>(step), 1}, 4, step * 16};
  }

 private:
  const std::uint64_t last_;
};

class LoaderTest : public ::testing::Test {
 protected:
  LoaderTest() {
    world.play<Loader>(kLoader, [] { return std::make_unique<Feed>(5); });
  }
  void grant(std::uint64_t step, std::uint32_t credits) {
    world.say<wire::LoadBatches>(
        kLoader,
        [&](wire::LoadBatches::Builder load) {
          load.setStep(step);
          load.setCredits(credits);
        },
        kTrainer);
  }
  std::vector<std::uint64_t> steps() {
    std::vector<std::uint64_t> all;
    for (const auto& ready : world.heard<wire::BatchReady>(kTrainer)) all.push_back(ready->getStep());
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

  grant(2, 1);

  EXPECT_EQ(steps(), (std::vector<std::uint64_t>{1, 2, 3}));
  const auto ready = world.last<wire::BatchReady>();
  EXPECT_EQ(ready->getMicrobatches(), 4U);
  EXPECT_EQ(ready->getNextSample(), 48U);
  EXPECT_EQ(ready->getTicket(), (Ticket{3, 1}.packed()));
}

TEST_F(LoaderTest, StartsAtTheStepOfAResumedJob) {
  grant(4, 1);

  EXPECT_EQ(steps(), (std::vector<std::uint64_t>{4}));
}

TEST_F(LoaderTest, SaysWhereTheDataEndsInsteadOfABatch) {
  grant(4, 3);

  EXPECT_EQ(steps(), (std::vector<std::uint64_t>{4, 5}));
  EXPECT_EQ(world.last<wire::DataEnded>(kTrainer)->getStep(), 6U);
  EXPECT_EQ(world.heard<wire::DataEnded>().size(), 1U);
}

TEST(Loader, DataThatCannotBeOpenedFailsWithItsText) {
  ActorWorld world;
  world.play<Loader>(kLoader, []() -> std::unique_ptr<BatchFeed> {
    throw Error(ErrorKind::input, "no such file: tokens.npy");
  });

  const auto failed = world.last<wire::Failed>();
  EXPECT_EQ(std::string(failed->getText()), "no such file: tokens.npy");
  EXPECT_EQ(failed->getKind(), wire::Failed::Kind::INPUT);
  EXPECT_TRUE(world.heard<wire::Ready>().empty());
}

}  // namespace
}  // namespace d9d
