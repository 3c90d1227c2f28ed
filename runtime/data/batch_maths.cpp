#include "runtime/data/batch_maths.hpp"

#include "runtime/base/error.hpp"

namespace d9d {

BatchMaths batch_maths(std::int64_t global_batch_size, std::int64_t microbatch_size,
                       std::int64_t num_data_ranks) {
  D9D_REQUIRE(global_batch_size >= 1, "trainer.batching.global_batch_size = {}, expected at least 1",
              global_batch_size);
  D9D_REQUIRE(microbatch_size >= 1, "trainer.batching.microbatch_size = {}, expected at least 1",
              microbatch_size);
  D9D_CHECK(num_data_ranks >= 1, "{} data ranks", num_data_ranks);
  std::int64_t together = 0;
  const bool overflow = __builtin_mul_overflow(microbatch_size, num_data_ranks, &together);
  D9D_REQUIRE(!overflow && global_batch_size % together == 0,
              "trainer.batching.global_batch_size = {} is not divisible by dp ({}) x microbatch_size ({})",
              global_batch_size, num_data_ranks, microbatch_size);
  return {global_batch_size, microbatch_size, num_data_ranks, global_batch_size / together};
}

}  // namespace d9d
