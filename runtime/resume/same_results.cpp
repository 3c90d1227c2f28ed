#include "runtime/resume/same_results.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "runtime/base/error.hpp"
#include "runtime/data/config/sample_unit.hpp"
#include "runtime/job/job_difference.hpp"
#include "runtime/job/job_paths.hpp"

namespace d9d {
namespace {

bool starts_with_any(std::string_view key, const auto& beginnings) {
  return std::any_of(beginnings.begin(), beginnings.end(),
                     [&](const char* beginning) { return key.starts_with(beginning); });
}
bool ends_with_any(std::string_view key, const auto& ends) {
  return std::any_of(ends.begin(), ends.end(), [&](const char* end) { return key.ends_with(end); });
}

// Whether new data would be put into the last row, which has a result already (rows of several documents).
bool fills_last_row(const DataConfig& data) {
  return std::visit(
      [](const auto& source) {
        if constexpr (requires { source.samples; }) return source.samples != SampleUnit::document;
        return false;
      },
      data);
}

// Whether the key decides the model, the task or the samples. Paths of files do not count, because contents
// are compared; neither do keys of how the work is done.
bool makes_results(const std::string& key, bool knows_weights) {
  constexpr std::array parts{"model_provider.", "task.", "collation", "data.",
                             "inference.determinism.base_seed"};
  constexpr std::array of_memory{"model_provider.enable_checkpointing", "model_provider.checkpoint_keeps",
                                 "model_provider.offload_layers"};
  constexpr std::array of_work{".epochs", ".max_samples", ".cache", ".threads"};
  constexpr std::array of_files{".files",        ".tokens", ".labels",         ".targets",
                                ".position_ids", ".prefix", ".attention_mask", ".tokenizer"};
  constexpr std::array of_weights{"inference.model_stage_factory.source_checkpoint", "model_provider.from"};
  if (starts_with_any(key, of_weights)) return !knows_weights;
  if (!starts_with_any(key, parts) || starts_with_any(key, of_memory) || ends_with_any(key, of_work))
    return false;
  const bool names_file =
      key.starts_with("data.") && (ends_with_any(key, of_files) || key.find(".files.") != std::string::npos);
  return !names_file;
}

}  // namespace

void require_same_results(const JobConfig& job, const nlohmann::json& keys,
                          const std::vector<ChangedInput>& changes, const std::vector<std::string>& tokenizer,
                          bool knows_weights) {
  auto differences =
      keys.is_object() ? differences_since(config::Json(keys), job) : std::vector<KeyDifference>();
  const bool moved = is_moved_by_growth(job.data) || fills_last_row(job.data);
  std::erase_if(differences, [&](const KeyDifference& difference) {
    if (difference.key.ends_with(".max_samples") && moved) return false;
    return !makes_results(difference.key, knows_weights);
  });
  std::string why = told(differences, "now", "then");
  const auto add = [&](const std::string& more) { why += (why.empty() ? "" : "; ") + more; };
  for (const ChangedInput& change : changes)
    if (!change.grown ||
        (change.what == "data" &&
         (fills_last_row(job.data) || !keeps_samples(job.data, change) || goes_on(job.data, change))))
      add(fmt::format("{} changed: {}", change.what, change.told));
  for (const std::string& name : tokenizer) add(fmt::format("the tokenizer's {} changed", name));
  if (why.empty()) return;
  throw Error(ErrorKind::input,
              fmt::format("{} holds results of another model, task or data: {}. Start with --fresh to begin "
                          "anew (they are kept under another name), or give another inference.run.name",
                          results_dir(job).string(), why));
}

}  // namespace d9d
