#include "runtime/base/json_text.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

namespace d9d {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

TEST(JsonText, KeepsTheOrderOfKeysWhereTheTypeDoes) {
  EXPECT_EQ(json_text(ordered_json{{"b", 1}, {"a", {1.5, nullptr}}}), R"({"b":1,"a":[1.5,null]})");
  EXPECT_EQ(json_text(json{{"b", 1}, {"a", true}}), R"({"a":true,"b":1})");
  EXPECT_EQ(json_text(json{{"a", 1}}, 2), "{\n  \"a\": 1\n}");
}

// RFC 8259, section 8.1: JSON between systems is UTF-8.
TEST(JsonText, RefusesBytesThatAreNotUtf8AndShowsThemAsOneCharacter) {
  EXPECT_THROW(json_text(json("caf\xe9")), json::type_error);
  EXPECT_THROW(json_text(ordered_json("caf\xe9")), json::type_error);
  EXPECT_EQ(shown_json(json("caf\xe9")), "\"caf\xef\xbf\xbd\"");
  EXPECT_EQ(shown_json(ordered_json("caf\xe9")), "\"caf\xef\xbf\xbd\"");
}

TEST(JsonText, ReadsWhatItWroteAndNothingBehindIt) {
  EXPECT_EQ(parse_json<json>(R"({"a": [1, 2]})")["a"][1], 2);
  EXPECT_EQ(json_text(parse_json<ordered_json>(R"({"b": 1, "a": 2})")), R"({"b":1,"a":2})");
  EXPECT_THROW(parse_json<json>("{} x"), json::parse_error);
  EXPECT_THROW(parse_json<json>(""), json::parse_error);
  EXPECT_TRUE(try_parse_json<json>("[1,").is_discarded());
  EXPECT_TRUE(try_parse_json<ordered_json>("").is_discarded());
  std::istringstream good("[3]"), bad("[3");
  EXPECT_EQ(try_parse_json<json>(good)[0], 3);
  EXPECT_TRUE(try_parse_json<json>(bad).is_discarded());
}

}  // namespace
}  // namespace d9d
