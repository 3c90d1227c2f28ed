#include "runtime/train/lr/phase_texts.hpp"

#include <gtest/gtest.h>

namespace d9d {
namespace {

TEST(LrPhaseTexts, NameValuesCurvesAndEnds) {
  const PiecewiseLr lr = PiecewiseLrBuilder(0.0, 100)
                             .for_steps(10, 1.0, LinearCurve{})
                             .until_percentage(0.1, 1.0, LinearCurve{})
                             .until_percentage(0.5, 1.0, LinearCurve{})
                             .fill_rest(0.1, CosineCurve{})
                             .build();

  EXPECT_EQ(text_of(lr), "0 to 1 linear until step 10, 1 until step 50, 1 to 0.1 cosine until step 100");
}

TEST(LrPhaseTexts, SayWhichPhaseAJobDoesNotSeeTheEndOf) {
  const PiecewiseLr lr =
      PiecewiseLrBuilder(0.0).for_steps(10, 1.0, LinearCurve{}).for_steps(20, 0.0, PolyCurve{}).build();

  EXPECT_FALSE(cut_phase(lr, 30));
  EXPECT_EQ(
      cut_phase(lr, 29),
      "phase 1 of the learning rate ends at step 30, beyond the 29 steps of the job, which sees only the "
      "begin of it");
  EXPECT_EQ(
      cut_phase(lr, 1),
      "phase 0 of the learning rate ends at step 10, beyond the 1 step of the job, which sees only the begin "
      "of it");
}

}  // namespace
}  // namespace d9d
