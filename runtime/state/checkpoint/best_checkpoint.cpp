#include "runtime/state/checkpoint/best_checkpoint.hpp"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "runtime/base/error.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/state/checkpoint/checkpoint_commit.hpp"

namespace d9d {
namespace {

namespace fs = std::filesystem;

std::optional<EvaluationValue> value_of(const Disk& disk, const FoundCheckpoint& found) {
  try {
    return evaluation_value(read_manifest(disk, found.path).extra);
  } catch (const Error&) {
    return std::nullopt;  // whoever resumes or lists says what is wrong with it
  }
}

}  // namespace

// All ranks know the same loss; rank 0 is always there.
std::optional<double> evaluation_loss(const std::string& extra) {
  const auto json = try_parse_json<nlohmann::json>(extra);
  const nlohmann::json::json_pointer where("/ranks/0/evaluation_loss");
  if (json.is_discarded() || !json.contains(where) || !json.at(where).is_number()) return std::nullopt;
  return json.at(where).get<double>();
}

std::optional<EvaluationValue> evaluation_value(const std::string& extra) {
  const auto json = try_parse_json<nlohmann::json>(extra);
  const nlohmann::json::json_pointer where("/ranks/0/evaluation_metric");
  if (!json.is_discarded() && json.contains(where)) {
    const auto& metric = json.at(where);
    if (metric.is_object() && metric.contains("value") && metric["value"].is_number())
      return EvaluationValue{metric["value"].get<double>(), metric.value("name", ""),
                             metric.value("higher_is_better", false)};
  }
  const auto loss = evaluation_loss(extra);
  return loss ? std::optional(EvaluationValue{.value = *loss}) : std::nullopt;
}

EvaluationValues evaluation_values(const Disk& disk, const std::string& directory,
                                   const std::set<std::uint64_t>& damaged_steps) {
  EvaluationValues values;
  for (const FoundCheckpoint& found : find_checkpoints(disk, directory)) {
    if (damaged_steps.contains(found.step)) continue;
    if (const auto value = value_of(disk, found)) values[found.step] = *value;
  }
  return values;
}

std::optional<std::uint64_t> best_of(const EvaluationValues& values) {
  std::optional<std::uint64_t> best;
  if (values.empty()) return best;
  const EvaluationValue& newest = values.rbegin()->second;
  for (const auto& [step, each] : values) {
    if (each.name != newest.name || each.higher_is_better != newest.higher_is_better) continue;
    const bool is_better = !best || (newest.higher_is_better ? each.value > values.at(*best).value
                                                             : each.value < values.at(*best).value);
    if (is_better) best = step;
  }
  return best;
}

bool set_best_link(const std::string& directory, std::optional<std::uint64_t> step) {
  const fs::path link = fs::path(directory) / best_link_name;
  std::error_code error;
  const auto kind = fs::symlink_status(link, error).type();
  if (kind != fs::file_type::symlink && kind != fs::file_type::not_found) return false;
  if (!step) return fs::remove(link, error) || !error;
  const std::string name = checkpoint_name(*step);
  if (kind == fs::file_type::symlink && fs::read_symlink(link, error) == name) return true;
  // Whoever reads it sees the old one or the new one.
  const fs::path fresh = fs::path(directory) / (std::string(best_link_name) + ".new");
  fs::remove(fresh, error);
  fs::create_directory_symlink(name, fresh, error);
  if (!error) fs::rename(fresh, link, error);
  return !error;
}

}  // namespace d9d
