#include "runtime/report/run_folder.hpp"

#include <algorithm>

#include "runtime/base/count.hpp"
#include "runtime/base/error.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/state/checkpoint/manifest.hpp"
#include "runtime/state/disk/folder_lock.hpp"

namespace d9d::report {
namespace {

namespace fs = std::filesystem;
using config::Json;

constexpr const char* metrics_name = "metrics.jsonl";
constexpr const char* traces_name = "traces";
constexpr const char* newest_trace_name = "trace.json.gz";
constexpr std::size_t named_runs_max = 8;

bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

bool is_run(const fs::path& directory) {
  for (const char* name : {metrics_name, run_record_name, traces_name, "checkpoints", last_checkpoint_name}) {
    if (is_there(directory / name)) return true;
  }
  return false;
}

// Sorted by name; of what cannot be listed nothing.
std::vector<fs::path> entries_of(const fs::path& directory) {
  std::vector<fs::path> paths;
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory, ignored))
    paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  return paths;
}

void require_run(const fs::path& directory) {
  D9D_REQUIRE(is_there(directory), "{} is not there; give the folder of a run, for example runs/quickstart",
              directory.string());
  D9D_REQUIRE(fs::is_directory(directory),
              "{} is a file; give the folder of a run, for example runs/quickstart", directory.string());
  if (is_run(directory)) return;
  std::string below;
  std::size_t found = 0;
  for (const fs::path& path : entries_of(directory)) {
    if (!fs::is_directory(path) || !is_run(path) || ++found > named_runs_max) continue;
    below += (below.empty() ? "" : ", ") + path.string();
  }
  if (found > named_runs_max) below += ", ...";
  D9D_REQUIRE(found == 0, "{} is the folder of no run, but it holds {}: {}; give one of them",
              directory.string(), counted(found, "run"), below);
  throw Error(ErrorKind::input,
              fmt::format("{} is the folder of no run: it has no {}, no {}, no {}/ and no checkpoints/. Give "
                          "output_dir of a job, which is runs/NAME without it",
                          directory.string(), metrics_name, run_record_name, traces_name));
}

bool is_used_now(const fs::path& directory) {
  try {
    require_not_in_use(directory.string());
    return false;
  } catch (const Error&) {
    return true;
  }
}

void add_checkpoints(const Disk& disk, RunFolder& run) {
  try {
    run.checkpoint_folder = saves_folder(disk, run.path.string());
    if (is_there(run.checkpoint_folder)) run.checkpoints = survey_checkpoints(disk, run.checkpoint_folder);
  } catch (const Error& error) {
    run.checkpoint_problem = error.what();
  }
}

Json job_of(const Disk& disk, const SaveSummary& save) {
  try {
    const Json extra = try_parse_json<Json>(read_manifest(disk, save.path).extra);
    return extra.is_object() ? extra.value("job", Json()) : Json();
  } catch (const Error&) {
    return {};  // the list of checkpoints says what is wrong with it
  }
}

void add_job(const Disk& disk, RunFolder& run) {
  if (!run.starts.empty() && run.starts.back().job.is_object()) {
    run.job = run.starts.back().job;
    run.job_from = run_record_name;
    return;
  }
  for (const SaveSummary& save : run.checkpoints) {
    if (save.state == SaveState::unfinished) continue;
    run.job = job_of(disk, save);
    run.job_from = "the manifest of " + save.name;
    if (run.job.is_object()) return;
  }
  run.job = Json();
  run.job_from.clear();
}

fs::path folder_of_traces(const RunFolder& run) {
  const Json elsewhere = run.key("/trainer/profiling/traces_dir");
  if (elsewhere.is_string() && !is_there(run.path / traces_name)) return elsewhere.get<std::string>();
  return run.path / traces_name;
}

void add_traces(RunFolder& run) {
  for (const fs::path& path : entries_of(folder_of_traces(run))) {
    const std::string name = path.filename().string();
    if (name == newest_trace_name) {
      run.trace = path;
    } else if (name.ends_with(".json.gz")) {
      run.other_traces.push_back(path);
    }
  }
}

void add_samples(RunFolder& run) {
  const auto is_text = [](const fs::path& path) { return path.extension() == ".txt"; };
  for (const fs::path& path : entries_of(run.path)) {
    if (is_text(path) && path.filename().string().starts_with("samples")) run.samples.push_back(path);
  }
  for (const fs::path& path : entries_of(run.path / "samples")) {
    if (is_text(path)) run.samples.push_back(path);
  }
}

}  // namespace

Json RunFolder::key(const std::string& pointer) const {
  const Json::json_pointer place(pointer);
  return job.is_object() && job.contains(place) ? job.at(place) : Json();
}

RunFolder look_at_run(const Disk& disk, const fs::path& directory) {
  require_run(directory);
  RunFolder run;
  run.path = directory;
  run.curves = read_curves(directory / metrics_name);
  run.starts = read_run_record(directory / run_record_name);
  run.has_log = is_there(directory / node_0_log);
  run.is_running = is_used_now(directory);
  add_checkpoints(disk, run);
  add_job(disk, run);
  add_traces(run);
  add_samples(run);
  const Json name = run.key("/trainer/run/name");
  const fs::path whole = fs::absolute(directory).lexically_normal();
  run.name = name.is_string() ? name.get<std::string>()
                              : (whole.has_filename() ? whole : whole.parent_path()).filename().string();
  return run;
}

}  // namespace d9d::report
