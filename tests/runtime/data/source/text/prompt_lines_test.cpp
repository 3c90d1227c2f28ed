#include "runtime/data/source/text/prompt_lines.hpp"

#include <gmock/gmock.h>

#include "runtime/base/error.hpp"
#include "tests/runtime/data/folder.hpp"
#include "tests/support/error_of.hpp"

namespace d9d {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> prompts_in(const std::vector<std::string>& files,
                                    const std::string& field = "prompt") {
  std::vector<std::string> prompts;
  for_each_prompt(files, field,
                  [&](std::string_view prompt, const std::string&) { prompts.emplace_back(prompt); });
  return prompts;
}

TEST(PromptLines, AreReadOfTextAndOfJson) {
  const Folder folder;
  const std::string text = folder.write("a.txt", "one\n\ntwo \n"),
                    json = folder.write("b.jsonl", "{\"q\": \"th\\nree\"}\n");

  EXPECT_THAT(prompts_in({text, json}, "q"), ElementsAre("one", "two ", "th\nree"));
}

TEST(PromptLines, NameTheLineThatHasNone) {
  const Folder folder;
  const std::string json = folder.write("b.jsonl", "{\"prompt\": \"a\"}\n{\"prompt\": 5}\n");

  EXPECT_THAT(test::error_of([&] { prompts_in({json}); }),
              HasSubstr("b.jsonl:2: expected an object with the key \"prompt\", a text"));
}

TEST(PromptLines, OfArraysAreRowsWithTheirNumbers) {
  const Folder folder;
  const std::string file = folder.write("a.json", "[{\"prompt\": \"x\"}, {\"prompt\": \"y\\nz\"}]");
  std::vector<std::string> prompts;
  for_each_placed_prompt({file}, "prompt", [&](std::string_view prompt, const RowPlace& place) {
    prompts.push_back(std::to_string(place.number) + (place.is_line ? " line " : " row ") +
                      std::string(prompt));
  });
  EXPECT_THAT(prompts, testing::ElementsAre("0 row x", "1 row y\nz"));
}

}  // namespace
}  // namespace d9d
