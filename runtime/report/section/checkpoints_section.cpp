#include "runtime/report/section/checkpoints_section.hpp"

#include <fmt/format.h>

#include "runtime/base/count.hpp"
#include "runtime/metric/progress.hpp"
#include "runtime/report/html.hpp"

namespace d9d::report {
namespace {

std::string none_text(const RunFolder& run) {
  if (!run.checkpoint_problem.empty())
    return hint("The checkpoints cannot be listed: " + run.checkpoint_problem);
  return hint(fmt::format(
      "There is no checkpoint in {}. trainer.checkpointing.period_steps: 100 writes one every 100 "
      "steps; export_to alone writes one at the end.",
      run.checkpoint_folder));
}

}  // namespace

std::string checkpoints_section(const RunFolder& run) {
  if (run.checkpoints.empty()) return section("checkpoints", "Checkpoints", none_text(run));
  std::vector<std::vector<Cell>> rows;
  for (const SaveSummary& save : run.checkpoints) {
    const std::string problem = save.problem.empty() ? "" : ": " + save.problem;
    rows.push_back({{save.name},
                    number_cell(fmt::format("{}", save.step)),
                    {written_at(save)},
                    number_cell(size_text(save.bytes)),
                    number_cell(fmt::format("{}", save.num_files)),
                    number_cell(save.evaluation_loss ? fmt::format("{:.6g}", *save.evaluation_loss) : ""),
                    {std::string(name_of(save.state)) + problem + (save.is_best ? ", the best" : "")}});
  }
  return section(
      "checkpoints", "Checkpoints",
      paragraph(fmt::format("{} in {}", counted(rows.size(), "checkpoint"), run.checkpoint_folder)) +
          table({{"name"},
                 number_cell("step"),
                 {"written"},
                 number_cell("size"),
                 number_cell("files"),
                 number_cell("evaluation loss"),
                 {"state"}},
                rows));
}

}  // namespace d9d::report
