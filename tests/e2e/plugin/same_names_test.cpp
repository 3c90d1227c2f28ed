// Plugins that know nothing of each other in one job: classes of the same name share nothing (PyTorch's issue 125465 is of
// this kind). Copies 1 and 2 are compiled as find_package(d9d) has a plugin compiled, 3 and 4 with no flag of ours.
#include <gmock/gmock.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>

#include "tests/support/tiny_job.hpp"

namespace d9d::test {
namespace {

using nlohmann::json;
using testing::UnorderedElementsAre;

std::string library_of(int copy) {
  return D9D_BINARY_DIR "/tests/e2e/libd9d_same_names_" + std::to_string(copy) + "_plugin.so";
}

json keys_of(const TinyJob& job, const std::string& run, int copy) {
  std::ifstream file(job.run_folder(run) / ("copy" + std::to_string(copy) + ".json"));
  return json::parse(file);
}

TEST(SameNames, SharedByPluginsShareNothing) {
  TinyJob job;
  std::vector<int> order{1, 2, 3, 4};
  int runs = 0;
  for (const std::vector<int>& places : {std::vector{1, 2, 3, 4}, {4, 3, 2, 1}, {3, 1, 4, 2}, {2, 4, 1, 3}}) {
    const std::string run = "order" + std::to_string(runs++);
    std::string plugins;
    for (const int copy : places) plugins += (plugins.empty() ? "" : ", ") + library_of(copy);

    ASSERT_THAT(
        job.run(named(run) + set("plugins", "[" + plugins + "]") + set("trainer.schedule.total_steps", "1") +
                set("trainer.logging.tracker",
                    "[{provider: table1, first: 11, second: 12, speed: {kind: slow, by: 13}},"
                    " {provider: table2, first: 21, second: 22, speed: {kind: fast, by: 23}},"
                    " {provider: table3, third: text, first: 31, speed: {kind: fast, by: 33}},"
                    " {provider: table4, first: [41, 42], second: 43, speed: {kind: slow, by: 44}}]")),
        ends_well());
    const auto speed = [](const char* kind, double by) { return json{{"kind", kind}, {"by", by}}; };
    EXPECT_EQ(keys_of(job, run, 1),
              (json{{"first", 11.0}, {"second", 12.0}, {"speed", speed("slow", 13)}, {"number", 1}}));
    EXPECT_EQ(keys_of(job, run, 2),
              (json{{"first", 21.0}, {"second", 22.0}, {"speed", speed("fast", 23)}, {"number", 2}}));
    json third = keys_of(job, run, 3), fourth = keys_of(job, run, 4);
    third.erase("number");  // a static of the plugin's own, which only the flags keep apart
    fourth.erase("number");
    EXPECT_EQ(third, (json{{"third", "text"}, {"first", 31.0}, {"speed", speed("fast", 33)}}));
    EXPECT_EQ(fourth, (json{{"first", {41.0, 42.0}}, {"second", 43}, {"speed", speed("slow", 44)}}));
  }
}

// name and letter of the library's dynamic symbols that it defines, in plain ("-C") or as they are linked.
std::vector<std::pair<std::string, std::string>> symbols_of(const std::string& library,
                                                            const std::string& names) {
  const TemporaryFolder folder;
  Process reader({.words = {"/usr/bin/env", "nm", "-D", names, "--defined-only", library},
                  .folder = folder.path(),
                  .name = "nm"});
  EXPECT_EQ(reader.wait(), 0) << reader.err();
  std::vector<std::pair<std::string, std::string>> symbols;
  std::istringstream lines(reader.out());
  for (std::string address, letter, name; lines >> address >> letter && std::getline(lines, name);)
    symbols.emplace_back(name.substr(1), letter);
  return symbols;
}

bool is_ours(const std::string& name) {
  return name.find("d9d") != std::string::npos || name.find("mine::") != std::string::npos;
}

TEST(SameNames, NoTableOfOursIsOneObjectOfTheWholeProcess) {
  for (const int copy : {3, 4}) {
    for (const auto& [name, letter] : symbols_of(library_of(copy), "-C")) {
      // Tables would be unique (u) or weak objects (V); so are the classes' own tables of virtual functions.
      const bool is_of_class = name.starts_with("vtable for") || name.starts_with("typeinfo");
      const bool is_of_the_plugin = name.find("mine::number()") != std::string::npos;
      EXPECT_FALSE(is_ours(name) && (letter == "u" || letter == "V") && !is_of_class && !is_of_the_plugin)
          << letter << " " << name;
    }
  }
}

TEST(SameNames, APluginAsThePackageCompilesItShowsItsEntriesAlone) {
  for (const int copy : {1, 2}) {
    std::vector<std::string> shown;
    // What std makes for types of ours keeps the visibility of std; a plugin's own comes first in its scope.
    static const std::regex ours("^(d9d|_ZT?[A-Z]?N?K?(3d9d|4mine)).*");
    for (const auto& [name, letter] : symbols_of(library_of(copy), "--no-demangle")) {
      EXPECT_NE(letter, "u") << name;
      if (std::regex_match(name, ours)) shown.push_back(name);
    }
    EXPECT_THAT(shown, UnorderedElementsAre("d9d_plugin_headers", "d9d_register"));
  }
}

}  // namespace
}  // namespace d9d::test
