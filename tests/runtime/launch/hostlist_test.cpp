#include "runtime/launch/hostlist.hpp"

#include <gmock/gmock.h>

#include "runtime/base/error.hpp"
#include "tests/support/error_of.hpp"

namespace d9d {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> hosts(const std::string& text) {
  return expand_hostlist(text, "SLURM_JOB_NODELIST");
}

TEST(Hostlist, ExpandsRangesInTheOrderOfTheList) {
  EXPECT_THAT(hosts("gpu[01-03,07],login1"), ElementsAre("gpu01", "gpu02", "gpu03", "gpu07", "login1"));
  EXPECT_THAT(hosts("solo"), ElementsAre("solo"));
  EXPECT_THAT(hosts("b2,a1"), ElementsAre("b2", "a1"));
}

TEST(Hostlist, KeepsZerosAndWhatFollowsABracket) {
  EXPECT_THAT(hosts("n[008-010]"), ElementsAre("n008", "n009", "n010"));
  EXPECT_THAT(hosts("n[9-11]-ib"), ElementsAre("n9-ib", "n10-ib", "n11-ib"));
  EXPECT_THAT(hosts("rack[1-2]n[3-4]"), ElementsAre("rack1n3", "rack1n4", "rack2n3", "rack2n4"));
}

TEST(Hostlist, NamesTheVariableAndWhatIsWrongWithIt) {
  for (const auto& [text, reason] :
       std::vector<std::pair<std::string, std::string>>{{"", "nothing between two commas"},
                                                        {"a,,b", "nothing between two commas"},
                                                        {"gpu[1-3", "a [ without its ]"},
                                                        {"gpu1-3]", "a ] without its ["},
                                                        {"gpu[1[2]]", "a [ inside of a ["},
                                                        {"gpu[]", "nothing between two commas"},
                                                        {"gpu[a-b]", "brackets hold numbers"},
                                                        {"gpu[1-]", "brackets hold numbers"},
                                                        {"gpu[3-1]", "runs backwards"},
                                                        {"gpu[0-999999999]", "too many hosts"},
                                                        {"a[0-999]b[0-999]", "too many hosts"}}) {
    EXPECT_THAT(test::error_of([&] { hosts(text); }, ErrorKind::input),
                AllOf(HasSubstr("SLURM_JOB_NODELIST is \"" + text), HasSubstr(reason)))
        << text << " was accepted";
  }
}

}  // namespace
}  // namespace d9d
