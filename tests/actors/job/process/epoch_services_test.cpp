#include "actors/job/process/epoch_services.hpp"

#include <gtest/gtest.h>

#include "tests/actors/job/process_of_a_test.hpp"

namespace d9d {
namespace {

struct Nothing final : Parcel {};

class EpochServicesTest : public ::testing::Test {
 protected:
  // How many parcels the table of `node` takes, where node 0 has one rank of four and node 1 has three.
  std::size_t room(int node) {
    EpochServices epoch(
        process.services,
        {.node = node, .ranks_per_node = {1, 3}, .addresses = {{"127.0.0.1", 4701}, {"127.0.0.1", 4702}}});
    constexpr std::size_t too_many = 1000;
    for (std::size_t parcels = 0; parcels < too_many; ++parcels) {
      try {
        epoch.table().put(std::make_unique<Nothing>());
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::bug);
        return parcels;
      }
    }
    return too_many;
  }

  ProcessOfATest process{{"trainer.data_prefetch.prefetch_factor=2"}};
};

TEST_F(EpochServicesTest, TheTensorTableHasRoomForTheRanksOfThisProcessOnly) {
  // Two microbatches of a step: of three steps the inputs; activations and gradients, both ways; two snapshots.
  constexpr std::size_t of_a_rank = 3 * 2 + 4 * 2 + 2;

  EXPECT_EQ(room(0), of_a_rank);
  EXPECT_EQ(room(1), 3 * of_a_rank);
}

}  // namespace
}  // namespace d9d
