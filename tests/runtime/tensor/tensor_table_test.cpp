#include "runtime/tensor/tensor_table.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "runtime/base/error.hpp"

namespace d9d {
namespace {

struct Number final : Parcel {
  explicit Number(int v) : value(v) {}
  int value;
};
struct Text final : Parcel {};

TEST(TensorTable, HandsAParcelOverExactlyOnce) {
  TensorTable table(2);

  const Ticket ticket = table.put(std::make_unique<Number>(7));

  EXPECT_EQ(table.take_as<Number>(ticket)->value, 7);
  EXPECT_THROW(table.take(ticket), Error);
}

TEST(TensorTable, TicketOfAReusedSlotIsStale) {
  TensorTable table(1);
  const Ticket first = table.put(std::make_unique<Number>(1));
  table.take(first);

  const Ticket second = table.put(std::make_unique<Number>(2));

  EXPECT_EQ(second.slot, first.slot);
  EXPECT_THROW(table.take(first), Error);
  EXPECT_EQ(table.take_as<Number>(second)->value, 2);
}

TEST(TensorTable, RefusesMoreThanItsBound) {
  TensorTable table(1);
  table.put(std::make_unique<Number>(1));

  EXPECT_THROW(table.put(std::make_unique<Number>(2)), Error);
}

TEST(TensorTable, RefusesAParcelOfAnotherType) {
  TensorTable table(1);
  const Ticket ticket = table.put(std::make_unique<Text>());

  EXPECT_THROW(table.take_as<Number>(ticket), Error);
}

TEST(TensorTable, EndOfAnEpochMakesAllTicketsStale) {
  TensorTable table(4);
  const Ticket ticket = table.put(std::make_unique<Number>(1));
  table.put(std::make_unique<Number>(2));

  EXPECT_EQ(table.clear(), 2U);

  EXPECT_THROW(table.take(ticket), Error);
  EXPECT_EQ(table.in_use(), 0U);
  EXPECT_EQ(table.peak(), 2U);
}

TEST(TensorTable, PassesParcelsBetweenThreads) {
  TensorTable table(64);
  std::vector<Ticket> tickets;
  for (int i = 0; i < 64; ++i) tickets.push_back(table.put(std::make_unique<Number>(i)));
  int sum_low = 0, sum_high = 0;

  std::thread other([&] {
    for (int i = 0; i < 32; ++i) sum_low += table.take_as<Number>(tickets[i])->value;
  });
  for (int i = 32; i < 64; ++i) sum_high += table.take_as<Number>(tickets[i])->value;
  other.join();

  EXPECT_EQ(sum_low + sum_high, 64 * 63 / 2);
}

}  // namespace
}  // namespace d9d
