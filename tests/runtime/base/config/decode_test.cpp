#include <gmock/gmock.h>

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "runtime/base/config/count_key.hpp"
#include "runtime/base/config/decode.hpp"
#include "runtime/base/config/override.hpp"
#include "runtime/base/error.hpp"
#include "tests/support/error_of.hpp"

namespace d9d::config {
namespace {

using testing::AllOf;
using testing::HasSubstr;

enum class Colour { red, green };
BOOST_DESCRIBE_ENUM(Colour, red, green)

struct Wheel {
  double radius = 0;
};
BOOST_DESCRIBE_STRUCT(Wheel, (), (radius))
constexpr auto keys_of(Tag<Wheel>) {
  return std::array{Key{"radius", "m", "size", required, above(0)}};
}

// Without keys_of().
struct Bell {
  Count rings = 3;
  std::string tone = "high";
};
BOOST_DESCRIBE_STRUCT(Bell, (), (rings, tone))

struct Walk {};
BOOST_DESCRIBE_STRUCT(Walk, (), ())
constexpr auto keys_of(Tag<Walk>) {
  return std::array<Key, 0>{};
}

struct Ride {
  std::int64_t speed = 20;
};
BOOST_DESCRIBE_STRUCT(Ride, (), (speed))
constexpr auto keys_of(Tag<Ride>) {
  return std::array{Key{"speed", "km/h", "how fast", config::optional, at_least(1)}};
}

using Mode = std::variant<Walk, Ride>;
constexpr auto choices_of(Tag<Mode>) {
  return Choices<2>{"mode", {{{"walk", "on foot"}, {"ride", "on wheels"}}}};
}

using OpenMode = std::variant<Ride, Named>;
constexpr auto choices_of(Tag<OpenMode>) {
  return Choices<1>{"name", {{{"ride", "on wheels"}}}};
}

struct Bike {
  std::string name;
  std::int8_t gears = 7;
  bool bell = true;
  std::optional<double> weight;
  std::array<double, 2> betas = {0.9, 0.999};
  std::vector<Wheel> wheels;
  std::map<std::string, std::int64_t> parts;
  nlohmann::json notes = nlohmann::json::object();
  Colour colour = Colour::green;
  Mode mode;
  Period service;
  OneOrMany<Mode> uses;
  OpenMode owner;
  std::int64_t spokes = 0;
};
BOOST_DESCRIBE_STRUCT(Bike, (),
                      (name, gears, bell, weight, betas, wheels, parts, notes, colour, mode, service, uses,
                       owner, spokes))
constexpr auto keys_of(Tag<Bike>) {
  return std::array{
      Key{"name", "", "what it is called", required},
      Key{"gears", "", "number of gears", config::optional, at_least(1)},
      Key{"bell", "", "has a bell"},
      Key{"weight", "kg", "weight; null: not weighed; stays", config::optional, above(0)},
      Key{"betas", "", "decay rates", config::optional, below_one()},
      Key{"wheels", "", "its wheels"},
      Key{"parts", "", "spare parts"},
      Key{"notes", "", "anything"},
      Key{"colour", "", "colour"},
      Key{"mode", "", "how it is used"},
      Key{"service", "steps", "when it is serviced"},
      Key{"uses", "", "more uses"},
      Key{"owner", "", "whose it is"},
      Key{"spokes", "", "spokes", config::optional, any_number(), "wheels are discs"},
  };
}

Bike read(const std::string& text) {
  Problems problems;
  Bike bike = decode<Bike>(parse(text, "bike.yaml"), problems);
  problems.throw_if_any();
  return bike;
}

std::string error_of(const std::string& text) {
  return test::error_of([&] { read(text); }, ErrorKind::input);
}

TEST(Config, KeepsDefaultsOfAbsentKeys) {
  const Bike bike = read("name: a");

  EXPECT_EQ(bike.gears, 7);
  EXPECT_TRUE(bike.bell);
  EXPECT_FALSE(bike.weight);
  EXPECT_EQ(bike.colour, Colour::green);
  EXPECT_TRUE(std::holds_alternative<Walk>(bike.mode));
  EXPECT_EQ(bike.service, Period::disable());
}

TEST(Config, ReadsEveryKindOfValue) {
  const Bike bike = read(
      "name: 2024\ngears: 0x10\nbell: false\nweight: 1e1\nbetas: [0.5, 0]\nwheels: [{radius: 1}, {radius: "
      ".5}]\n"
      "parts: {tube: 2}\nnotes: {a: [1, 2.5, null, 'x', true]}\ncolour: red\nmode: {mode: ride, speed: 30}\n"
      "service: 5\nuses: {mode: walk}\nowner: {name: carol, age: 4}\n");

  EXPECT_EQ(bike.name, "2024");
  EXPECT_EQ(bike.gears, 16);
  EXPECT_FALSE(bike.bell);
  EXPECT_EQ(bike.weight, 10.0);
  EXPECT_EQ(bike.betas[1], 0.0);
  EXPECT_EQ(bike.wheels[1].radius, 0.5);
  EXPECT_EQ(bike.parts.at("tube"), 2);
  EXPECT_EQ(bike.notes.dump(), R"({"a":[1,2.5,null,"x",true]})");
  EXPECT_EQ(bike.colour, Colour::red);
  EXPECT_EQ(std::get<Ride>(bike.mode).speed, 30);
  EXPECT_EQ(bike.service, Period::every(5));
  EXPECT_EQ(bike.uses.items.size(), 1u);
  EXPECT_EQ(std::get<Named>(bike.owner).name, "carol");
}

TEST(Config, ReadsJsonWithTabsAndEscapes) {
  const Bike bike = read(
      "{\n\t\"name\": \"a\\/b \\u00e9\",\n\t\"gears\": 3,\n\t\"wheels\": [\n\t\t{\"radius\": "
      "1e-1}\n\t]\n}\n");

  EXPECT_EQ(bike.name, "a/b \xc3\xa9");
  EXPECT_EQ(bike.gears, 3);
  EXPECT_EQ(bike.wheels.at(0).radius, 0.1);
}

TEST(Config, ReadsJsonEscapesOfTwoParts) {
  EXPECT_EQ(read(R"({"name": "\ud83d\ude00!"})").name, "\xf0\x9f\x98\x80!");
  EXPECT_EQ(read(R"({"name": "\\ud83d\\ude00"})").name, "\\ud83d\\ude00");
  EXPECT_THAT(error_of(R"({"name": "\ud83d"})"), HasSubstr("not valid YAML or JSON"));
}

TEST(Config, TakesANameForAChoiceWithoutKeys) {
  EXPECT_TRUE(std::holds_alternative<Ride>(read("name: a\nmode: ride").mode));
  EXPECT_EQ(read("name: a\nuses: [walk, {mode: ride}]").uses.items.size(), 2u);
}

TEST(Config, LetsThePluginDecodeItsOwnSection) {
  const Bike bike = read("name: a\nowner: {name: carol, radius: big}");
  const Section& section = std::get<Named>(bike.owner).options;

  EXPECT_THAT(test::error_of([&] { decode<Wheel>(section); }),
              AllOf(HasSubstr("bike.yaml:2:30: owner.radius: expected a number"), HasSubstr("\"big\"")));
}

TEST(Config, WritesBackWhatItRead) {
  const std::string text =
      "name: a\nwheels: [{radius: 1}]\nmode: {mode: ride}\nowner: {name: carol, age: 4}\nservice: "
      "last_step\n";
  const Json once = encode(read(text));

  const Json twice = encode(read(once.dump()));

  EXPECT_EQ(once, twice);
  EXPECT_EQ(once["mode"].dump(), R"({"mode":"ride","speed":20})");
  EXPECT_EQ(once["owner"].dump(), R"({"name":"carol","age":4})");
}

struct Bad {
  const char* text;
  std::vector<const char*> parts;
};
const std::vector<Bad> bad = {
    {"name: a\ngear: 3", {"bike.yaml:2:1: gear: unknown key", "did you mean \"gears\"?"}},
    {"name: a\nmode:\n  mode: ride\n  sped: 3", {"bike.yaml:4:3: mode.sped: unknown key", "\"speed\""}},
    {"name: a\nzzzzzz: 3", {"zzzzzz: unknown key", "known: name, gears"}},
    {"gears: 3", {"bike.yaml:1:1: name: missing", "add `name: ...` at the top level", "what it is called"}},
    {"nmae: a", {"nmae: unknown key", "did you mean \"name\"?"}},
    {"name: a\nwheels: [{}]", {"wheels.0.radius: missing", "under `wheels.0`"}},
    {"name: a\ngears: eight",
     {"bike.yaml:2:8: gears: expected an integer, got the text \"eight\"", "e.g. 8"}},
    {"name: a\ngears: '8'", {"got the text \"8\"", "remove the quotes"}},
    {"name: a\ngears: 1e1", {"got the number 1e1", "write 10"}},
    {"name: a\ngears: 300", {"300 does not fit", "from -128 to 127"}},
    {"name: a\ngears: 0", {"gears: 0 is out of range", ">= 1"}},
    {"name: a\ngears: null", {"expected an integer, got nothing (null)"}},
    {"name: a\nbell: yes", {"expected a boolean, got the text \"yes\"", "true or false"}},
    {"name: a\nweight: .nan", {"expected a number", "finite", ", or null (not weighed)"}},
    {"name: a\nweight: .inf", {"expected a number", "finite", ", or null (not weighed)"}},
    {"name: a\nweight: --1", {"expected a number, got the text \"--1\""}},
    {"name: a\nweight: 1e-400", {"expected a number, got the text \"1e-400\""}},
    {"name: a\nweight: 0xfffffffffffffffff", {"expected a number, got the integer 0xfffffffffffffffff"}},
    {"name: a\nweight: 0", {"0 is out of range; give a value > 0, or null (not weighed)"}},
    {"name: a\nbetas: [0.9]", {"expected a list of 2 float, got a list of 1"}},
    {"name: a\nbetas: [0.9, 1]", {"betas: 1 is out of range", "0 to 1 (excluded)"}},
    {"name: a\nwheels: {radius: 1}", {"wheels: expected a list, got a map"}},
    {"name: a\nparts: [1]", {"parts: expected a map, got a list of 1"}},
    {"name: a\ncolour: gren", {"colour: \"gren\" is not known", "did you mean \"green\"?"}},
    {"name: a\nmode: {speed: 3}", {"mode.mode: missing", "known: walk, ride"}},
    {"name: a\nmode:", {"mode.mode: missing", "known: walk, ride"}},
    {"name: a\nowner:", {"owner.name: missing", "known: ride"}},
    {"name: a\nmode: {mode: rid}", {"mode.mode: \"rid\" is not known", "\"ride\""}},
    {"name: a\nmode: [walk]", {"mode: expected a section with `mode`, got a list of 1"}},
    {"name: a\nservice: 0", {"service: expected a period, got the integer 0", "last_step or disable"}},
    {"name: a\nservice: never", {"expected a period", "\"never\""}},
    {"name: [a]", {"name: expected a text, got a list of 1"}},
    {"- a", {"expected a section (a map), got a list of 1"}},
    {"", {"name: missing"}},
    {"name: a\nname: b", {"bike.yaml:2:1: name: given twice, first in line 1", "remove one"}},
    {"name: a\nmode:\n  speed: 1\n  speed: 2", {"bike.yaml:4:3: mode.speed: given twice"}},
    {"name: a\nmode: {mode: ride", {"not valid YAML or JSON", "brackets closed"}},
    {"name: a\n gears: 3", {"bike.yaml:2:", "not valid YAML"}},
    {"name: a\n---\nname: b", {"more than one YAML document"}},
    {"[a]: b", {"a key must be a text, given a list of 1"}},
};

TEST(Config, NamesThePlaceTheKeyAndTheRemedyOfEveryMistake) {
  for (const Bad& one : bad) {
    const std::string text = error_of(one.text);
    for (const char* part : one.parts) EXPECT_THAT(text, HasSubstr(part)) << one.text;
  }
}

TEST(Config, CollectsAllMistakes) {
  const std::string text = error_of("gears: x\nbell: 3\ncolor: red");

  EXPECT_THAT(text, AllOf(HasSubstr("gears"), HasSubstr("bell"), HasSubstr("\"colour\""),
                          HasSubstr("name: missing")));
}

TEST(Config, WarnsOfKeysWithoutEffect) {
  Problems problems;

  decode<Bike>(parse("name: a\nspokes: 3", "bike.yaml"), problems);

  ASSERT_EQ(problems.warnings().size(), 1u);
  EXPECT_EQ(to_string(problems.warnings()[0]), "bike.yaml:2:9: spokes: has no effect: wheels are discs");
}

TEST(Config, RefusesTextsThatGrowWithoutBound) {
  std::string bomb = "a: &a [x, x, x, x, x, x, x, x, x, x]\n";
  for (char c = 'b'; c < 'i'; ++c) {
    const char before = static_cast<char>(c - 1);
    bomb +=
        fmt::format("{0}: &{0} [*{1}, *{1}, *{1}, *{1}, *{1}, *{1}, *{1}, *{1}, *{1}, *{1}]\n", c, before);
  }
  EXPECT_THAT(error_of(bomb), HasSubstr("more than 100000 values"));
  EXPECT_THAT(error_of("notes: " + std::string(100, '[') + std::string(100, ']')),
              HasSubstr("nested deeper"));
  EXPECT_THAT(error_of(std::string(2 << 20, 'a')), HasSubstr("a config has at most"));
}

TEST(Config, NamesTheFileThatCannotBeRead) {
  EXPECT_THROW(parse_file("/no/such/job.yaml"), Error);
  EXPECT_THROW(parse_file("/tmp"), Error);
}

TEST(Reference, ListsEveryKeyWithDefaultUnitAndMeaning) {
  const std::string text = reference_of<Bike>().markdown();

  EXPECT_THAT(text, HasSubstr("| `gears` | int, >= 1 | `7` |  | number of gears |"));
  EXPECT_THAT(text, HasSubstr("| `name` | text | required |  | what it is called |"));
  EXPECT_THAT(text, HasSubstr("| `wheels.N.radius` | float, > 0 | required | m | size |"));
  EXPECT_THAT(text, HasSubstr("## `mode with mode: ride`\n\non wheels\n"));
  EXPECT_THAT(text, HasSubstr("\n## Keys without effect\n"));
  EXPECT_THAT(text, HasSubstr("| `spokes` | int | wheels are discs |"));
}

TEST(Decode, WithoutKeysEveryMemberIsAnOptionalKey) {
  Problems problems;
  const auto bell = decode<Bell>(parse("{rings: 5}", "a.yaml"), problems);
  problems.throw_if_any();
  EXPECT_EQ(bell.rings, 5);
  EXPECT_EQ(fmt::format("{:3} rings", bell.rings), "  5 rings");
  EXPECT_EQ(bell.tone, "high");
  EXPECT_EQ(encode(bell).dump(), R"({"rings":5,"tone":"high"})");

  decode<Bell>(parse("{rings: 0, tune: low}", "a.yaml"), problems);
  EXPECT_THAT(test::error_of([&] { problems.throw_if_any(); }),
              AllOf(HasSubstr("rings: expected a whole number of at least 1"),
                    HasSubstr("tune: unknown key; did you mean \"tone\"?")));
}

}  // namespace
}  // namespace d9d::config
