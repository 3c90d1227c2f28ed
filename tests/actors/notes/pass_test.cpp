#include "actors/notes/pass.hpp"

#include <gtest/gtest.h>

#include <capnp/message.h>

namespace d9d {
namespace {

TEST(Pass, FollowsTheOthersOfItsStepInTheirOrder) {
  const Pass step{}, first{PassKind::EVALUATE, 1}, second{PassKind::EVALUATE, 2}, texts{PassKind::TEXTS, 1};

  EXPECT_LT(step, first);
  EXPECT_LT(first, second);
  EXPECT_LT(second, texts);
  EXPECT_LT(texts, (Pass{PassKind::ROLLOUTS, 1})) << "those of step 1 come after step 0";
  EXPECT_FALSE((Pass{PassKind::ROLLOUTS, 1}.is_step()));
  EXPECT_TRUE(step.trains() && step.is_step());
  EXPECT_FALSE(first.is_step() || texts.is_step() || first.trains());
  EXPECT_TRUE((Pass{PassKind::INFER}.is_step()));
}

TEST(Pass, IsTheSameBehindTheWire) {
  for (const Pass& pass : {Pass{}, Pass{PassKind::EVALUATE, 3}, Pass{PassKind::INFER},
                           Pass{PassKind::TEXTS, 7}, Pass{PassKind::ROLLOUTS, 8}}) {
    capnp::MallocMessageBuilder message;
    const auto builder = message.initRoot<wire::BeginStep::Pass>();
    fill_pass(builder, pass);
    EXPECT_EQ(pass_of(builder.asReader()), pass);
  }
  EXPECT_EQ(to_string({PassKind::EVALUATE, 3}), "batch 3 of the evaluation");
  EXPECT_EQ(to_string({PassKind::ROLLOUTS, 8}), "the rollouts for step 8");
}

}  // namespace
}  // namespace d9d
