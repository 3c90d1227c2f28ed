#include "actors/core/connections.hpp"

#include <gtest/gtest.h>

namespace d9d {
namespace {

TEST(Connections, HaveNumbersOfTheirOwn) {
  Connections connections;
  const auto first = connections.open(true), second = connections.open(false);

  EXPECT_EQ(first->number(), 1U);
  EXPECT_EQ(second->number(), 2U);
  EXPECT_TRUE(first->is_member());
  EXPECT_FALSE(second->is_member());
}

TEST(Connections, AreAdmittedOneByOne) {
  Connections connections;
  const auto first = connections.open(false), second = connections.open(false);

  connections.admit(second->number());

  EXPECT_FALSE(first->is_member());
  EXPECT_TRUE(second->is_member());
  EXPECT_EQ(connections.num_joining(), 1U);
}

TEST(Connections, ThatAreGoneAndMessagesOfThisProcessAdmitNothing) {
  Connections connections;
  const std::uint64_t gone = connections.open(false)->number();
  const auto other = connections.open(false);

  EXPECT_EQ(connections.num_joining(), 1U);
  connections.admit(0);
  connections.admit(gone);

  EXPECT_FALSE(other->is_member());
}

}  // namespace
}  // namespace d9d
