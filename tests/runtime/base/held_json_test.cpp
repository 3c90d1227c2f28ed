#include "runtime/base/held_json.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "runtime/base/error.hpp"
#include "tests/support/error_of.hpp"

namespace d9d {
namespace {

using nlohmann::json;
using testing::HasSubstr;

constexpr double infinity = std::numeric_limits<double>::infinity();

std::string refusal(const json& state) {
  return test::error_of([&] { require_json_holds(state, "state() of the actor \"best\""); },
                        ErrorKind::input);
}

TEST(HeldJson, IsWhatIsReadAgainAsItWasWritten) {
  const json state = {{"best", 2.5}, {"list", {1, -1, nullptr, true, "\xc3\xa9"}}, {"", json::object()}};

  require_json_holds(state, "state()");
  require_json_holds(nullptr, "state()");

  EXPECT_EQ(json::parse(state.dump()), state);
}

TEST(HeldJson, NamesTheNumberThatWouldBecomeNullAndItsPlace) {
  EXPECT_THAT(
      refusal({{"best", infinity}}),
      HasSubstr(
          "state() of the actor \"best\" holds infinity at /best, which JSON cannot hold; write null or "
          "a text"));
  EXPECT_THAT(refusal({{"a/b", {1, {{"lowest", -infinity}}}}}),
              HasSubstr("holds -infinity at /a~1b/1/lowest"));
  EXPECT_THAT(refusal(json::array({0.5, std::nan("")})), HasSubstr("holds NaN at /1"));
  EXPECT_THAT(refusal(infinity), HasSubstr("holds infinity at its top"));
}

TEST(HeldJson, NamesTextsThatAreNotUtf8AndBytes) {
  EXPECT_THAT(refusal({{"name", "caf\xe9"}}), HasSubstr("holds a text that is not UTF-8 at /name"));
  EXPECT_THAT(refusal({{"inner", {{"caf\xe9", 1}}}}), HasSubstr("holds a key that is not UTF-8 in /inner"));
  EXPECT_THAT(refusal({{"raw", json::binary({1, 2})}}), HasSubstr("holds bytes at /raw"));
}

}  // namespace
}  // namespace d9d
