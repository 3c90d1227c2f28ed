#include <gmock/gmock.h>

#include "runtime/base/config/override.hpp"
#include "runtime/base/config/parse.hpp"
#include "runtime/base/config/period.hpp"
#include "runtime/base/config/problems.hpp"
#include "runtime/base/error.hpp"
#include "tests/support/error_of.hpp"

namespace d9d::config {
namespace {

using testing::HasSubstr;

std::string set(const std::string& text, std::string_view assignment) {
  Node root = parse(text, "job.yaml");
  apply_override(root, assignment);
  return to_json(root).dump();
}

std::string override_error(const std::string& text, std::string_view assignment) {
  return test::error_of([&] { set(text, assignment); }, ErrorKind::input);
}

TEST(Override, ReplacesAValue) {
  EXPECT_EQ(set("a: {b: 1}", "a.b=2"), R"({"a":{"b":2}})");
  EXPECT_EQ(set("a: {b: 1}", "a=[x, 0.5]"), R"({"a":["x",0.5]})");
  EXPECT_EQ(set("a: 1", "a="), R"({"a":null})");
  EXPECT_EQ(set("a: 1", "a=k=v"), R"({"a":"k=v"})");
}

// hydra #2705: what a shell has left is the whole value, except what is written as YAML.
TEST(Override, KeepsTheTextAsItStands) {
  for (const char* text : {"run #5", "#5", "&more", "!important", "*.self_attn.*", "@here", "`x`", "100%",
                           "%d", "> 5", "| x", "a  b", "it's", "2 \"big\" ones", "a, b", "C:\\x", "x [1]"}) {
    Node root;
    apply_override(root, std::string("a=") + text);
    EXPECT_EQ(root.find("a")->text, text);
    EXPECT_EQ(root.find("a")->kind, Node::Kind::scalar);
  }
  EXPECT_EQ(set("", "a= x "), R"({"a":"x"})");
}

TEST(Override, TakesAnAddressInBracketsForNoList) {
  Node root = parse("{}", "job.yaml");
  for (const char* address : {"[::]:0", "[fd00::1]:29500", "[::ffff:10.0.0.1]:80"}) {
    apply_override(root, std::string("a=") + address);
    EXPECT_EQ(root.find("a")->text, address);
  }
  apply_override(root, "a=[1, 2]");
  EXPECT_EQ(root.find("a")->items.size(), 2U);
}

TEST(Override, ReadsYamlWhereItIsWritten) {
  EXPECT_EQ(set("", "a=\"run #5\""), R"({"a":"run #5"})");
  EXPECT_EQ(set("", "a='5'"), R"({"a":"5"})");
  EXPECT_EQ(set("", "a=!!str 5"), R"({"a":"5"})");
  EXPECT_EQ(set("", "a=~"), R"({"a":null})");
  EXPECT_EQ(set("", "a=null"), R"({"a":null})");
  EXPECT_EQ(set("", "a=1e-3"), R"({"a":0.001})");
  EXPECT_EQ(set("", "a={b: 1} # why"), R"({"a":{"b":1}})");
  EXPECT_EQ(set("", "a=b: 1"), R"({"a":{"b":1}})");
  EXPECT_EQ(set("", "a=|\n x\n y\n"), R"({"a":"x\ny\n"})");
}

TEST(Override, MakesMissingMaps) {
  EXPECT_EQ(set("", "a.b.c=true"), R"({"a":{"b":{"c":true}}})");
  EXPECT_EQ(set("a:", "a.b=1"), R"({"a":{"b":1}})");
}

TEST(Override, ReachesIntoLists) {
  EXPECT_EQ(set("files: [a, b]", "files.1=c"), R"({"files":["a","c"]})");
  EXPECT_EQ(set("files: [a, b]", "files.2=c"), R"({"files":["a","b","c"]})");
  EXPECT_EQ(set("l: [{x: 1}]", "l.0.x=2"), R"({"l":[{"x":2}]})");
}

TEST(Override, NamesTheSegmentItCannotFollow) {
  EXPECT_THAT(override_error("a: {b: text}", "a.b.c=1"),
              HasSubstr("`a.b` is the text \"text\", so it has no key `c`"));
  EXPECT_THAT(override_error("l: [1]", "l.3=1"), HasSubstr("`3` is not a place in `l`, a list of 1"));
  EXPECT_THAT(override_error("l: [1]", "l.x=1"), HasSubstr("`x` is not a place in `l`"));
  EXPECT_THAT(override_error("a: 1", "a..b=1"), HasSubstr("an empty key after"));
  EXPECT_THAT(override_error("a: 1", "a"), HasSubstr("--set key.path=value"));
  EXPECT_THAT(override_error("a: 1", "=1"), HasSubstr("--set key.path=value"));
  EXPECT_THAT(override_error("a: 1", "a=[1"), HasSubstr("--set a=[1:1:"));
}

TEST(Override, IsTheOriginOfItsValueInErrors) {
  Node root = parse("a: 1", "job.yaml");

  apply_override(root, "a=x");

  EXPECT_EQ(to_string(locate(root, "a")), "--set a=x");
}

TEST(Nearest, FindsSlipsOfThePenAndNothingElse) {
  EXPECT_EQ(nearest("global_bacth_size", {"microbatch_size", "global_batch_size"}), "global_batch_size");
  EXPECT_EQ(nearest("lr", {"learning", "betas"}), "");
  EXPECT_EQ(nearest("batch_size", {"global_batch_size", "lr"}), "global_batch_size");
  EXPECT_EQ(suggestion("qqqq", {"a", "b"}), "known: a, b");
}

TEST(Period, IsDueOnItsStepsAndAtTheEndWhereAsked) {
  EXPECT_TRUE(is_due(Period::every(5), 10, 12, false));
  EXPECT_FALSE(is_due(Period::every(5), 12, 12, false));
  EXPECT_TRUE(is_due(Period::every(5), 12, 12, true));
  EXPECT_TRUE(is_due(Period::last_step(), 12, 12, false));
  EXPECT_FALSE(is_due(Period::last_step(), 11, 12, true));
  EXPECT_FALSE(is_due(Period::disable(), 12, 12, true));
}

}  // namespace
}  // namespace d9d::config
