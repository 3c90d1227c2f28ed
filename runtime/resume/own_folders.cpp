#include "runtime/resume/own_folders.hpp"

#include <algorithm>
#include <array>
#include <filesystem>

#include "runtime/base/error.hpp"
#include "runtime/data/config/data_parts.hpp"
#include "runtime/job/job_paths.hpp"
#include "runtime/resume/input_files.hpp"

namespace d9d {
namespace {

namespace fs = std::filesystem;

// Follows links in the part of the path that exists; the rest stays as it is written.
fs::path resolved(const std::string& path) {
  std::error_code ignored;
  const fs::path whole = fs::absolute(path, ignored);
  fs::path found = fs::weakly_canonical(whole, ignored);
  if (ignored || found.empty()) found = whole.lexically_normal();
  return found.has_filename() ? found : found.parent_path();
}

bool is_same(const fs::path& a, const fs::path& b) {
  std::error_code one_is_missing;
  return a == b || fs::equivalent(a, b, one_is_missing);  // by another mount
}

bool lies_in(fs::path inner, const fs::path& outer) {
  while (true) {
    if (is_same(inner, outer)) return true;
    if (!inner.has_relative_path()) return false;
    inner = inner.parent_path();
  }
}

bool is_folder(const std::string& path) {
  std::error_code unreadable;
  return fs::is_directory(path, unreadable);
}

[[noreturn]] void refuse(const std::string& key, const std::string& written, const char* how,
                         const std::string& whose, const std::string& read) {
  throw Error(ErrorKind::input,
              fmt::format("{} {} {} {}, which {} reads: the job would write over its own input. Give "
                          "another folder",
                          key, written, how, read, whose));
}

bool is_folder_of_model(const fs::path& folder) {
  constexpr std::array names{"config.json", "adapter_config.json", "model.safetensors",
                             "model.safetensors.index.json"};
  std::error_code unreadable;
  return std::any_of(names.begin(), names.end(),
                     [&](const char* name) { return fs::exists(folder / name, unreadable); });
}

// The file may be in any folder, even in that where the job was started. So only overwriting it is refused,
// unless the folder is a model's.
void require_apart_from_file(const std::string& key, const std::string& written, const std::string& whose,
                             const std::string& file) {
  const fs::path folder = resolved(file).parent_path();
  if (is_folder_of_model(folder)) return require_apart(key, written, whose, folder.string());
  if (lies_in(folder, resolved(written))) refuse(key, written, "would be written over", whose, file);
}

// Checks the folders that `data.files` names.
void require_apart_from_data(const std::string& key, const std::string& written, const std::string& section,
                             const DataConfig& data) {
  for (const DataPart& part : parts_of(data)) {
    std::visit(
        [&](const auto& source) {
          if constexpr (requires { source.files; }) {
            for (const std::string& file : source.files)
              if (is_folder(file)) require_apart(key, written, section + ".files", file);
          }
        },
        part.source);
  }
}

}  // namespace

void require_apart(const std::string& key, const std::string& written, const std::string& whose,
                   const std::string& read) {
  const fs::path target = resolved(written), source = resolved(read);
  if (is_same(target, source)) refuse(key, written, "is", whose, read);
  if (lies_in(target, source)) refuse(key, written, "lies inside of", whose, read);
  if (lies_in(source, target)) refuse(key, written, "contains", whose, read);
}

void require_other_file(const std::string& option, const std::string& written, const std::string& whose,
                        const std::string& read) {
  if (!is_same(resolved(written), resolved(read))) return;
  throw Error(ErrorKind::input, fmt::format("{} {} is {}, which {} reads, and would be written over it. Give "
                                            "another file",
                                            option, written, read, whose));
}

void require_own_folder(const std::string& key, const std::string& written, const JobConfig& job) {
  for (const JobInput& input : inputs_of(job)) {
    if (input.key == "plugins") continue;
    const bool is_data = input.key == "data" || input.key == "evaluation.data";
    if (is_data) {
      if (is_same(resolved(written), resolved(input.path))) refuse(key, written, "is", input.key, input.path);
      continue;
    }
    const bool is_file = input.key.ends_with(".tokenizer") && !is_folder(input.path);
    if (is_file)
      require_apart_from_file(key, written, input.key, input.path);
    else
      require_apart(key, written, input.key, input.path);
  }
  require_apart_from_data(key, written, "data", job.data);
  if (job.evaluation) require_apart_from_data(key, written, "evaluation.data", job.evaluation->data);
  const std::string checkpoints = checkpoint_dir(job).string();
  if (lies_in(resolved(written), resolved(checkpoints)))
    throw Error(ErrorKind::input,
                fmt::format("{} {} lies among the job's checkpoints ({}). Give another folder", key, written,
                            checkpoints));
}

void require_outside(const std::string& key, const std::string& written, const std::string& checkpoint) {
  if (!lies_in(resolved(written), resolved(checkpoint))) return;
  throw Error(ErrorKind::input, fmt::format("{} {} is inside of the checkpoint {}. Give another folder", key,
                                            written, checkpoint));
}

void require_own_results(const JobConfig& job) {
  const fs::path results = resolved(results_dir(job).string());
  for (const std::string& file : data_files(job.data)) {
    if (!lies_in(resolved(file), results)) continue;
    throw Error(ErrorKind::input,
                fmt::format("data: {} is in the folder of this job's results ({}), which would replace it. "
                            "Move it, or give another inference.run.name",
                            file, results_dir(job).string()));
  }
}

}  // namespace d9d
