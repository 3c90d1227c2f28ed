#include "runtime/base/config/parse.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "runtime/base/error.hpp"
#include "tests/support/error_of.hpp"

namespace d9d::config {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string json_of(const std::string& text) {
  return to_json(parse(text, "job.yaml")).dump();
}
std::string refusal(const std::string& text) {
  return test::error_of([&] { parse(text, "job.yaml"); }, ErrorKind::input);
}

// The examples of https://yaml.org/type/merge.html, as PyYAML 6 reads them.
TEST(Parse, MergeKeysAddWhatIsNotThere) {
  EXPECT_EQ(json_of("a: &a {x: 1, y: 2}\nb: {<<: *a, r: 10}"),
            R"({"a":{"x":1,"y":2},"b":{"r":10,"x":1,"y":2}})");
  EXPECT_EQ(json_of("a: &a {x: 1}\nb: {x: 2, <<: *a}"), R"({"a":{"x":1},"b":{"x":2}})");
  EXPECT_EQ(json_of("a: &a {x: 1}\nb: {<<: *a, x: 2}"), R"({"a":{"x":1},"b":{"x":2}})");
  EXPECT_EQ(json_of("- &a {x: 1, y: 1}\n- &b {x: 0, r: 10}\n- {<<: [*a, *b]}\n- {<<: [*b, *a]}"),
            R"([{"x":1,"y":1},{"r":10,"x":0},{"r":10,"x":1,"y":1},{"r":10,"x":0,"y":1}])");
  EXPECT_EQ(json_of("a: &a {x: {deep: 1}}\nb: &b {<<: *a, y: 2}\nc: {<<: *b}"),
            R"({"a":{"x":{"deep":1}},"b":{"x":{"deep":1},"y":2},"c":{"x":{"deep":1},"y":2}})");
  EXPECT_EQ(json_of(R"({"<<": 1})"), R"({"<<":1})") << "in quotes it is a key as any other";
}

TEST(Parse, AMergeKeyWithoutASectionIsRefused) {
  EXPECT_THAT(refusal("a: &a 3\nb: {<<: *a}"),
              AllOf(HasSubstr("job.yaml:2:5: b.<<"), HasSubstr("given the integer 3")));
}

TEST(Parse, TextThatIsNotUtf8IsRefusedWithItsPlace) {
  EXPECT_THAT(refusal("a: 1\nname: caf\xe9"),
              AllOf(HasSubstr("job.yaml:2:10: the byte 0xe9 after \"name: caf\" is not UTF-8")));
  for (const char* bad :
       {"\x80", "\xc0\xaf", "\xe0\x9f\xbf", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xf5", "\xe2\x82"})
    EXPECT_THAT(refusal(std::string("a: ") + bad), HasSubstr("is not UTF-8"));
  EXPECT_EQ(json_of("a: \"caf\u00e9 \u20ac \U0001F600\""), "{\"a\":\"caf\u00e9 \u20ac \U0001F600\"}");
}

// The core schema of YAML 1.2 calls the first three texts; for the last two there is no double.
TEST(Parse, WhatIsNoNumberStaysAText) {
  EXPECT_EQ(json_of("[--1, +-1, -+1e3, 1e-400, 0xfffffffffffffffff]"),
            R"(["--1","+-1","-+1e3","1e-400","0xfffffffffffffffff"])");
  EXPECT_EQ(json_of("[-1e3, +1.5, 99999999999999999999]"), "[-1000.0,1.5,1e+20]");
}

TEST(Parse, ATagWithoutAMeaningIsRefused) {
  EXPECT_THAT(refusal("a: 1\nb: !include x.yaml"),
              AllOf(HasSubstr("job.yaml:2:4"), HasSubstr("the tag !include has no meaning here")));
  for (const char* tagged : {"!env HOME", "!!binary aGk=", "!!python/tuple [1]", "!!set {a}", "!x {a: 1}"})
    EXPECT_THAT(refusal(std::string("a: ") + tagged), HasSubstr("has no meaning here")) << tagged;
  EXPECT_EQ(json_of("{a: !!int 5, b: !!str 5, c: !!bool true, d: !!map {e: !!seq [f]}, g: ! h, i: '!x'}"),
            R"({"a":5,"b":"5","c":true,"d":{"e":["f"]},"g":"h","i":"!x"})")
      << "as PyYAML 6 reads it";
}

// A device that never ends, a file that is no job.
TEST(Parse, ReadsNoMoreThanAConfigMayHave) {
  EXPECT_THAT(test::error_of([] { parse_file("/dev/zero"); }, ErrorKind::input),
              HasSubstr("/dev/zero: more than 1048576 bytes; is it a job file?"));
}

}  // namespace
}  // namespace d9d::config
