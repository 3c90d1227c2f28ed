#include "runtime/data/file/json_rows.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "runtime/base/error.hpp"
#include "tests/runtime/data/folder.hpp"
#include "tests/support/error_of.hpp"

namespace d9d {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

std::string refusal_of_line(const std::string& line) {
  return test::error_of([&] { object_of_line(line, "x.jsonl:3"); }, ErrorKind::input);
}

// The nine causes that people have.
TEST(JsonRows, ThatAreNoneSayWhereAndWhy) {
  EXPECT_THAT(refusal_of_line("[{\"a\": 1}]"),
              AllOf(HasSubstr("x.jsonl:3: not a JSON object"), HasSubstr("data.format: json")));
  EXPECT_THAT(refusal_of_line("["), HasSubstr("data.format: json"));
  EXPECT_THAT(refusal_of_line("{"), HasSubstr("over several lines"));
  EXPECT_THAT(refusal_of_line("{\"a\": NaN}"), AllOf(HasSubstr("NaN is no JSON"), HasSubstr("Column 7")));
  EXPECT_THAT(refusal_of_line("{\"a\": \"\\ud83d\"}"), HasSubstr("half of a character"));
  EXPECT_THAT(refusal_of_line("{\"a\": 1},"), HasSubstr("a comma after the object"));
  EXPECT_THAT(refusal_of_line("{\"a\": \"cut of"), HasSubstr("cut short"));
  EXPECT_THAT(refusal_of_line("{\"a\": 1,"), HasSubstr("cut short"));
  EXPECT_THAT(refusal_of_line("{\"a\": 1} {\"a\": 2}"), HasSubstr("two objects in a line"));
  EXPECT_THAT(refusal_of_line("{\"a\": \"\xe9\"}"),
              AllOf(HasSubstr("the byte 0xe9 is no UTF-8"), HasSubstr("Column 8")));
  EXPECT_THAT(refusal_of_line("plain words"), HasSubstr("no JSON at all"));
}

class JsonFiles : public testing::Test {
 protected:
  std::vector<std::string> rows(const std::string& text, bool is_array = true) {
    const std::string file = folder_.write("x.json", text);
    std::vector<std::string> out;
    for_each_json_row(file, is_array, [&](const JsonRow& row) {
      out.push_back(std::filesystem::path(text_of(row.place)).filename().string() + " " + row.object.dump());
    });
    return out;
  }
  std::string refusal(const std::string& text, bool is_array = true) {
    return test::error_of([&] { rows(text, is_array); }, ErrorKind::input);
  }
  const Folder folder_;
};

TEST_F(JsonFiles, OfAnArrayAreItsElements) {
  EXPECT_THAT(rows("\xef\xbb\xbf [\n {\"a\": \"],}\"},\n\n {\"a\": [1, {\"b\": \"\\\"]\"}]} ]\n"),
              ElementsAre("x.json, row 0 {\"a\":\"],}\"}", "x.json, row 1 {\"a\":[1,{\"b\":\"\\\"]\"}]}"));
  EXPECT_THAT(rows("[]"), ElementsAre());
  EXPECT_THAT(rows("{\"a\": 1}\n\n{\"a\": 2}\n"), ElementsAre("x.json:1 {\"a\":1}", "x.json:3 {\"a\":2}"));
}

TEST_F(JsonFiles, ThatAreNoArraysAreRefusedWithTheirLine) {
  EXPECT_THAT(refusal("{\n \"data\": [{}]\n}"),
              AllOf(HasSubstr("x.json:1: one JSON object"), HasSubstr("jq .data")));
  EXPECT_THAT(refusal("[{},\n{},\n]"), HasSubstr("x.json:3: a comma after the last element"));
  EXPECT_THAT(refusal("[{}\n{}]"), HasSubstr("x.json:2: no comma between two elements"));
  EXPECT_THAT(refusal("[{},\n{\"a\": \"b"), HasSubstr("x.json:2: the file ends within element 1"));
  EXPECT_THAT(refusal("[{},\n{}"), HasSubstr("the file ends within the array, after element 2"));
  EXPECT_THAT(refusal("[{}]\n[{}]"), HasSubstr("x.json:2: something after the end"));
  EXPECT_THAT(refusal("[{}, 5]"), HasSubstr("x.json, row 1: not a JSON object"));
  EXPECT_THAT(refusal("[\n{}\n]", false), HasSubstr("x.json:1: not a JSON object"));
}

}  // namespace
}  // namespace d9d
