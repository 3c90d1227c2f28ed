#include "runtime/data/batch_maths.hpp"

#include <gmock/gmock.h>

#include "runtime/base/error.hpp"

namespace d9d {
namespace {

using testing::HasSubstr;

template <class Call>
std::string error_of(Call&& call) {
  try {
    call();
    return "no error";
  } catch (const Error& error) {
    return error.what();
  }
}

TEST(BatchMaths, DividesTheGlobalBatchByRanksAndMicrobatches) {
  const BatchMaths maths = batch_maths(24, 2, 3);

  EXPECT_EQ(maths.num_microbatches, 4);
  EXPECT_EQ(maths.samples_per_rank(), 8);
  EXPECT_EQ(maths.first_sample(240, 0), 240u);
  EXPECT_EQ(maths.first_sample(240, 2), 256u);
}

TEST(BatchMaths, RefusesARemainderAndNamesAllThreeNumbers) {
  EXPECT_EQ(error_of([] { batch_maths(30, 2, 4); }),
            "trainer.batching.global_batch_size = 30 is not divisible by dp (4) x microbatch_size (2)");
  EXPECT_THAT(error_of([] { batch_maths(0, 1, 1); }), HasSubstr("global_batch_size = 0"));
  EXPECT_THAT(error_of([] { batch_maths(8, -1, 1); }), HasSubstr("microbatch_size = -1"));
  EXPECT_THAT(error_of([] { batch_maths(8, INT64_MAX, 4); }), HasSubstr("is not divisible"));
}

TEST(BatchMaths, CountsOnlyWholeStepsOfAnEpoch) {
  EXPECT_EQ(steps_per_epoch(std::nullopt, 8), std::nullopt);
  EXPECT_EQ(steps_per_epoch(31, 8), 3u);
  EXPECT_EQ(steps_per_epoch(32, 8), 4u);
  EXPECT_THAT(error_of([] { steps_per_epoch(7, 8); }), HasSubstr("the data has 7 samples"));
}

}  // namespace
}  // namespace d9d
