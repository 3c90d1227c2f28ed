// examples/movers.md: its events are those of the catalogue, its keys are in the reference of all keys (which another
// test compares with the code).
#include <gmock/gmock.h>

#include <fstream>
#include <iterator>
#include <regex>

#include "tests/tidy/source_tree.hpp"

namespace d9d::tidy {
namespace {

std::string content(const std::string& path) {
  std::ifstream in(std::string(D9D_SOURCE_DIR) + "/" + path);
  return {std::istreambuf_iterator<char>(in), {}};
}

// From `begin` to the next `end`.
std::string part(const std::string& text, const std::string& begin, const std::string& end) {
  const std::size_t from = text.find(begin);
  if (from == std::string::npos) return {};
  return text.substr(from + begin.size(), text.find(end, from + begin.size()) - from - begin.size());
}

// What the expression's first group matches.
Names found(const std::string& text, const std::string& expression) {
  const std::regex regex(expression);
  Names names;
  for (std::sregex_iterator at(text.begin(), text.end(), regex), last; at != last; ++at)
    names.insert((*at)[1]);
  return names;
}

TEST(TheGuideForMovers, NamesEveryEventOfTheCatalogueAndNoOther) {
  const Names told = found(part(content("examples/movers.md"), "## Events\n", "\n`tests/tidy`"),
                           "\\| `([a-z_.]+)` \\| (?:yes|no)");
  const Names there =
      found(part(content("actors/event_bus.cpp"), "event_catalogue() {", "return names;"), "\"([a-z_.]+)\"");

  EXPECT_EQ(there.size(), 37U);
  EXPECT_EQ(told, there);
}

TEST(TheGuideForMovers, NamesKeysThatThereAre) {
  const std::string rows = part(content("examples/movers.md"), "## Keys\n", "\n## ");
  const Names known = found(content("examples/config_reference.md"), "\\| `([a-z0-9_.N]+)` \\|");
  Names told;
  for (const std::string& cell : found(rows, "\n\\|[^|]*\\|([^|]*)\\|"))
    for (const std::string& name : found(cell, "`([^`]+)`")) told.insert(name);

  EXPECT_GT(told.size(), 50U);
  for (const std::string& name : told) EXPECT_TRUE(known.contains(name)) << name << " is no key";
}

}  // namespace
}  // namespace d9d::tidy
