#include "runtime/data/batch_maths.hpp"

#include <gmock/gmock.h>

#include "tests/support/error_of.hpp"

namespace d9d {
namespace {

using testing::HasSubstr;

TEST(BatchMaths, DividesTheGlobalBatchByRanksAndMicrobatches) {
  const BatchMaths maths = batch_maths(24, 2, 3);

  EXPECT_EQ(maths.num_microbatches, 4);
  EXPECT_EQ(maths.samples_per_rank(), 8);
  EXPECT_EQ(maths.first_sample(240, 0), 240u);
  EXPECT_EQ(maths.first_sample(240, 2), 256u);
}

TEST(BatchMaths, RefusesARemainderAndNamesAllThreeNumbers) {
  EXPECT_EQ(test::error_of([] { batch_maths(30, 2, 4); }),
            "trainer.batching.global_batch_size = 30 is not divisible by dp (4) x microbatch_size (2)");
  EXPECT_THAT(test::error_of([] { batch_maths(0, 1, 1); }), HasSubstr("global_batch_size = 0"));
  EXPECT_THAT(test::error_of([] { batch_maths(8, -1, 1); }), HasSubstr("microbatch_size = -1"));
  EXPECT_THAT(test::error_of([] { batch_maths(8, INT64_MAX, 4); }), HasSubstr("is not divisible"));
}

}  // namespace
}  // namespace d9d
