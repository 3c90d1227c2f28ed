#include "actors/core/wire_pairs.hpp"

#include <capnp/schema.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "actors/core/failure_kind.hpp"
#include "actors/notes/reduce_operation.hpp"
#include "tests/support/error_of.hpp"

namespace d9d {
namespace {

// Every value that the schema knows has a pair, and comes back as itself.
template <class Table>
void expect_whole(const Table& table) {
  using Wire = typename decltype(table.pairs)::value_type::second_type;
  const auto known = capnp::Schema::from<Wire>().getEnumerants().size();

  EXPECT_EQ(table.pairs.size(), known) << table.field;
  for (std::uint16_t raw = 0; raw < known; ++raw) {
    const auto wire = Wire(raw);
    EXPECT_EQ(table.to_wire(table.from_wire(wire)), wire) << table.field << " " << raw;
  }
}

TEST(WirePairs, CoverEveryValueOfTheSchema) {
  expect_whole(failure_kinds);
  expect_whole(reduce_operations);
}

TEST(WirePairs, MeanTheSameOnBothSides) {
  EXPECT_EQ(failure_kinds.to_wire(ErrorKind::environment), wire::Failed::Kind::ENVIRONMENT);
  EXPECT_EQ(reduce_operations.from_wire(wire::ReduceValues::Operation::MIN), ReduceOp::min);
}

TEST(WirePairs, AnUnknownValueIsABugByName) {
  EXPECT_EQ(
      test::error_of([&] { reduce_operations.from_wire(wire::ReduceValues::Operation(7)); }, ErrorKind::bug),
      "ReduceValues.operation is 7, which is not known");
}

}  // namespace
}  // namespace d9d
