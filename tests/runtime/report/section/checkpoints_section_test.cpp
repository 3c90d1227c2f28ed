#include "runtime/report/section/checkpoints_section.hpp"

#include <gmock/gmock.h>

#include "tests/runtime/report/well_formed.hpp"

namespace d9d::report {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(CheckpointsSection, ListsStepSizeAndState) {
  RunFolder run;
  run.checkpoint_folder = "runs/r/checkpoints";
  run.checkpoints = {{.name = "save-20",
                      .path = "/nowhere/save-20",
                      .state = SaveState::damaged,
                      .problem = "rank-1.safetensors is <missing>",
                      .step = 20,
                      .bytes = 2'500'000,
                      .num_files = 3}};

  const std::string html = checkpoints_section(run);

  EXPECT_EQ(test::markup_problem(html), "");
  EXPECT_THAT(html,
              AllOf(HasSubstr("1 checkpoint in runs/r/checkpoints"), HasSubstr("<td>save-20</td>"),
                    HasSubstr(">2.50MB</td>"), HasSubstr("damaged: rank-1.safetensors is &lt;missing&gt;")))
      << html;
}

TEST(CheckpointsSection, SaysHowCheckpointsAreSwitchedOn) {
  RunFolder none, unreadable;
  unreadable.checkpoint_problem = "permission denied";

  EXPECT_THAT(checkpoints_section(none), HasSubstr("trainer.checkpointing.period_steps: 100 writes one"));
  EXPECT_THAT(checkpoints_section(unreadable), HasSubstr("cannot be listed: permission denied"));
}

}  // namespace
}  // namespace d9d::report
