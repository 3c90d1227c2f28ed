#include "actors/cli/work_options.hpp"

#include <gmock/gmock.h>

#include "tests/actors/cli/called.hpp"

namespace d9d {
namespace {

using testing::HasSubstr;

test::Outcome told(const std::vector<std::string>& words) {
  return test::call({.name = "work",
                     .options = {shard_size_option(), threads_option()},
                     .run =
                         [](const Arguments& arguments, Console& console) {
                           console.out << shard_size_given(arguments) << " " << threads_given(arguments);
                           return 0;
                         }},
                    words);
}

TEST(WorkOptions, AreSizesWithUnitsAndSmallNumbers) {
  EXPECT_EQ(told({"--shard-size", "500MB", "--threads", "3"}).out, "500000000 3");
  EXPECT_EQ(told({"--shard-size", "2GiB", "--threads", "64"}).out, "2147483648 64");
  EXPECT_EQ(told({"--shard-size", "17", "--threads", "1"}).out, "17 1");
  EXPECT_THAT(told({}).out, testing::MatchesRegex("4000000000 [1-4]"));
  EXPECT_THAT(told({"--shard-size", "2 elephants"}).err, HasSubstr("expected a size such as 500MB"));
  EXPECT_THAT(told({"--threads", "0"}).err, HasSubstr("--threads"));
}

}  // namespace
}  // namespace d9d
