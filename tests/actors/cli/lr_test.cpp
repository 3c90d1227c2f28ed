#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "actors/cli/commands.hpp"
#include "tests/actors/cli/called.hpp"
#include "tests/support/file_text.hpp"

namespace d9d {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

const std::string lr_job = D9D_SOURCE_DIR "/tests/actors/cli/job.yaml";

TEST(CliLr, PrintsTheMultiplierOfEveryStep) {
  const auto json = nlohmann::json::parse(
      test::call(lr_command(), {lr_job, "--json", "--set", "trainer.schedule.total_steps=4"}).out);

  EXPECT_EQ(json["total_steps"], 4);
  EXPECT_EQ(json["lr"], 3.0e-4);
  EXPECT_THAT(json["multipliers"].get<std::vector<double>>(), ElementsAre(0.0, 0.5, 1.0, 0.5));
}

TEST(CliLr, DrawsTheCurve) {
  EXPECT_THAT(
      test::call(lr_command(), {lr_job, "--steps", "4"}),
      test::prints(AllOf(HasSubstr("       1           0.5       0.00015\n"), HasSubstr("        1 |  *\n"),
                         HasSubstr("+----\n"), HasSubstr("     step  0  3\n"))));
}

TEST(CliLr, DrawsTheCurveAsAFile) {
  const std::string drawn = testing::TempDir() + "lr.svg";
  EXPECT_THAT(test::call(lr_command(), {lr_job, "--steps", "4", "--svg", drawn}), test::ends_well());
  const std::string drawn_text = test::text_of_file(drawn);
  EXPECT_THAT(drawn_text,
              AllOf(HasSubstr("<svg "), HasSubstr(">Learning rate</text>"), HasSubstr(">3e-4</text>")));
}

}  // namespace
}  // namespace d9d
