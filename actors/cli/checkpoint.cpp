// d9d-node checkpoint: lists, verifies and inspects what a run has saved.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <ostream>

#include "actors/cli/running_commands.hpp"
#include "actors/cli/view/inspection.hpp"
#include "actors/job/process/work_progress.hpp"
#include "runtime/base/config/problems.hpp"
#include "runtime/base/count.hpp"
#include "runtime/base/error.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/base/log.hpp"
#include "runtime/state/checkpoint/checkpoint_survey.hpp"
#include "runtime/state/checkpoint/checkpoint_verify.hpp"
#include "runtime/state/model/model_index.hpp"

namespace d9d {
namespace {

using config::Json;

constexpr std::size_t findings_tensors_max = 20;  // printed for one finding; --json has all

Json to_json(const SaveSummary& save) {
  Json json = {{"name", save.name},           {"path", save.path},   {"step", save.step},
               {"written", written_at(save)}, {"bytes", save.bytes}, {"files", save.num_files},
               {"state", name_of(save.state)}};
  if (!save.problem.empty()) json["problem"] = save.problem;
  if (save.evaluation_loss) json["evaluation_loss"] = *save.evaluation_loss;
  if (save.is_best) json["best"] = true;
  return json;
}

std::string loss_column(const SaveSummary& save) {
  return fmt::format("{:>15}  ", save.evaluation_loss ? fmt::format("{:.6g}", *save.evaluation_loss) : "");
}

int list_saves(const Disk& disk, const std::string& directory, bool json, Console& console) {
  const std::string folder = saves_folder(disk, directory);
  const auto saves = survey_checkpoints(disk, folder);
  D9D_REQUIRE(!saves.empty(), "{} holds no checkpoint; give the folder of a run or of its checkpoints",
              folder);
  if (json) {
    Json list = Json::array();
    for (const SaveSummary& save : saves) list.push_back(to_json(save));
    console.out << json_text(Json{{"directory", folder}, {"checkpoints", list}}, 2) << "\n";
    return 0;
  }
  const bool evaluated = std::any_of(
      saves.begin(), saves.end(), [](const SaveSummary& save) { return save.evaluation_loss.has_value(); });
  std::size_t width = 4;
  for (const SaveSummary& save : saves) width = std::max(width, save.name.size());
  console.out << fmt::format("{}\n{:<{}}  {:>8}  {:<20}  {:>7}  {:>5}  {}state\n", folder, "name", width,
                             "step", "written", "size", "files", evaluated ? "evaluation loss  " : "");
  for (const SaveSummary& save : saves) {
    console.out << fmt::format(
        "{:<{}}  {:>8}  {:<20}  {:>7}  {:>5}  {}{}{}{}\n", save.name, width, save.step, written_at(save),
        size_text(save.bytes), save.num_files, evaluated ? loss_column(save) : "", name_of(save.state),
        save.is_best ? ", the best" : "", save.problem.empty() ? "" : ": " + save.problem);
  }
  return 0;
}

// Returns the checkpoint itself, or all checkpoints of a folder, newest first.
std::vector<std::string> checkpoints_of(const Disk& disk, const std::string& directory) {
  D9D_REQUIRE(disk.exists(directory),
              "{} is not there; give a checkpoint, for example runs/NAME/checkpoints/save-100", directory);
  if (disk.exists(join_path(directory, manifest_name))) return {directory};
  std::vector<std::string> paths;
  for (const auto& found : find_checkpoints(disk, saves_folder(disk, directory))) paths.push_back(found.path);
  // Named like a checkpoint but without a manifest: it has lost its manifest.
  const auto name = std::filesystem::path(directory).lexically_normal().filename().string();
  if (paths.empty() && name.starts_with("save-")) return {directory};
  D9D_REQUIRE(!paths.empty(),
              "{} holds no checkpoint that was committed; give a folder save-STEP, or the folder with such",
              directory);
  return paths;
}

void print(const CheckpointFinding& finding, Console& console) {
  console.out << "  " << finding.file << ": " << finding.problem << "\n";
  const std::size_t shown = std::min(finding.tensors.size(), findings_tensors_max);
  for (std::size_t i = 0; i < shown; ++i) console.out << "    " << finding.tensors[i] << "\n";
  if (shown < finding.tensors.size())
    console.out << "    and " << finding.tensors.size() - shown << " more; --json names all\n";
}

void print(const std::string& path, const VerifyReport& report, Console& console) {
  const std::string extent = fmt::format("{}, {}, {} read", counted(report.num_files, "file"),
                                         counted(report.num_slices, "slice"), size_text(report.bytes));
  const bool good = report.findings.empty();
  console.out << fmt::format("{}: {} ({})\n", path, good ? "good" : "DAMAGED", extent);
  for (const CheckpointFinding& finding : report.findings) print(finding, console);
  for (const std::string& name : report.strangers)
    console.out << "  " << name << ": not the checkpoint's, left alone\n";
}

Json to_json(const std::string& path, const VerifyReport& report) {
  Json findings = Json::array();
  for (const CheckpointFinding& finding : report.findings)
    findings.push_back({{"file", finding.file}, {"problem", finding.problem}, {"tensors", finding.tensors}});
  return {{"path", path},
          {"good", report.findings.empty()},
          {"files", report.num_files},
          {"slices", report.num_slices},
          {"bytes", report.bytes},
          {"findings", findings},
          {"strangers", report.strangers}};
}

int verify(const Disk& disk, const std::string& directory, bool json, Console& console) {
  const SystemClock clock;
  Json all = Json::array();
  bool good = true;
  for (const std::string& path : checkpoints_of(disk, directory)) {
    VerifyReport report;
    {
      WorkProgress progress(console.err, is_on_terminal(), clock);
      report = verify_checkpoint(
          disk, path, [&](std::uint64_t done, std::uint64_t total) { progress.update(done, total); });
    }
    if (path != directory && !report.findings.empty() && !disk.exists(join_path(path, manifest_name))) {
      log::info("{} was removed while it was read", path);  // by a run that still trains
      continue;
    }
    good = good && report.findings.empty();
    if (json)
      all.push_back(to_json(path, report));
    else
      print(path, report, console);
  }
  if (json) console.out << json_text(Json{{"good", good}, {"checkpoints", all}}, 2) << "\n";
  return good ? 0 : 1;
}

int inspect_one(const Disk& disk, const std::string& directory, bool json, Console& console) {
  const bool is_one = holds_model_state(disk, directory) || disk.exists(join_path(directory, manifest_name));
  const std::string path =
      is_one ? directory : checkpoint_in(disk, saves_folder(disk, directory), Check::sizes);
  const Inspection inspection = inspect_folder(disk, path);
  console.out << (json ? json_text(to_json(inspection), 2) + "\n" : to_text(inspection));
  return 0;
}

int checkpoint(const Arguments& arguments, Console& console) {
  const PosixDisk disk;
  const std::string& what = arguments.positional()[0];
  const std::string& directory = arguments.positional()[1];
  const bool json = arguments.has("--json");
  if (what == "list") return list_saves(disk, directory, json, console);
  if (what == "verify") return verify(disk, directory, json, console);
  D9D_REQUIRE(what == "inspect", "checkpoint: unknown word {}; {}", what,
              config::suggestion(what, {"list", "verify", "inspect"}));
  return inspect_one(disk, directory, json, console);
}

}  // namespace

Command checkpoint_command() {
  return {.name = "checkpoint",
          .positional = "list|verify|inspect DIR",
          .summary = "list, verify or inspect what a run has saved",
          .positional_min = 2,
          .positional_max = 2,
          .options = {{"--json", "", "print JSON"}},
          .run = checkpoint,
          .details =
              "list     the checkpoints of a run: step, time, size, and whether each is complete;\n"
              "         where the run evaluates the loss, too, and which is the best\n"
              "verify   compares every byte with the manifest: names, sizes, shapes, checksums; exit code 1 "
              "and the\n"
              "         tensors' names where something is wrong\n"
              "inspect  the tensors of a checkpoint or of a Hugging Face folder, and what else it holds\n\n"
              "DIR is a folder save-STEP, or the folder of a run or of its checkpoints: then `verify` takes "
              "all of\n"
              "them, `inspect` the newest one that is complete.\n",
          .examples = {"checkpoint list runs/quickstart",
                       "checkpoint verify runs/quickstart/checkpoints/save-700"}};
}

}  // namespace d9d
