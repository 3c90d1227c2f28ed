#include "runtime/base/shortened.hpp"

#include <gtest/gtest.h>

namespace d9d {
namespace {

TEST(Shortened, KeepsTheBeginningAndSaysHowMuchFollows) {
  EXPECT_EQ(shortened("short"), "short");
  EXPECT_EQ(shortened(std::string(100'000, 'x')), std::string(2000, 'x') + " [and 98000 bytes more]");
  const std::string umlauts = std::string(1999, 'x') + "\xC3\xA4" + std::string(50, 'y');
  EXPECT_EQ(shortened(umlauts), std::string(1999, 'x') + " [and 52 bytes more]") << "no half of a character";
}

}  // namespace
}  // namespace d9d
