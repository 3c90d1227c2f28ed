#include "actors/cli/manual.hpp"

#include <gmock/gmock.h>

namespace d9d {
namespace {

TEST(Manual, HasEveryCommandAndSetsTextsAsTheyAre) {
  CommandLine program{.name = "d9d-node",
                      .version = "0.1.0-abc\nLibTorch",
                      .commands = {{.name = "run",
                                    .positional = "JOB.yaml",
                                    .summary = "run a part",
                                    .options = {{"--device", "cpu|cuda", "where"}},
                                    .run = {},
                                    .details = ".begins with a dot\n'and a quote \\\n"}}};
  add_manual(program);

  const std::string page = man_page_of(program);

  for (const char* name : {"run", "completion", "man"})
    EXPECT_THAT(page, testing::HasSubstr(std::string(".SS ") + name + "\n"));
  EXPECT_THAT(page, testing::HasSubstr("\\&.begins with a dot\n\\&'and a quote \\e\n"));
  EXPECT_THAT(page, testing::HasSubstr("\\-\\-device cpu|cuda"));
  EXPECT_THAT(page, testing::HasSubstr("d9d\\-node 0.1.0\\-abc\""));
}

}  // namespace
}  // namespace d9d
