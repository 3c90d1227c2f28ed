#include "actors/cli/view/inspection.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "runtime/base/count.hpp"
#include "runtime/base/error.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/metric/progress.hpp"
#include "runtime/state/checkpoint/manifest.hpp"
#include "runtime/state/model/model_files.hpp"
#include "runtime/state/model/model_index.hpp"

namespace d9d {
namespace {

using config::Json;

constexpr std::uint64_t config_bytes_max = 16 << 20;

struct KindTotal {
  std::uint64_t tensors = 0;
  std::uint64_t values = 0;
  std::uint64_t bytes = 0;
};

std::map<std::string, KindTotal> totals_of(const Inspection& inspection) {
  std::map<std::string, KindTotal> totals;
  for (const InspectedTensor& tensor : inspection.tensors) {
    KindTotal& total = totals[tensor.kind];
    ++total.tensors;
    total.values += static_cast<std::uint64_t>(num_elements(tensor.shape));
    total.bytes += tensor.bytes();
  }
  return totals;
}

void add_other_files(const Disk& disk, const std::set<std::string>& with_tensors, Inspection& inspection) {
  for (const DirectoryEntry& entry : disk.list(inspection.path))
    if (!with_tensors.contains(entry.name)) inspection.other_files.push_back(entry);
}

// Adds the part of the job's state that is not tensors.
void add_extra(const std::string& text, Json& facts) {
  const Json extra = parse_json<Json>(text);
  const Json::json_pointer name("/job/trainer/run/name");
  if (extra.contains(name)) facts["run"] = extra[name];
  if (extra.contains("ranks")) facts["ranks"] = extra["ranks"].size();
  for (const auto& [key, value] : extra.items())
    facts["state." + key] = fmt::format("{} of JSON", size_text(json_text(value).size()));
}

Inspection inspect_checkpoint(const Disk& disk, const std::string& directory) {
  const Manifest manifest = read_manifest(disk, directory);
  require_complete(manifest);
  Inspection inspection{directory, {}, {}, {}};
  std::map<std::pair<std::string, std::string>, InspectedTensor> tensors;
  std::set<std::string> with_tensors;
  for (const ManifestEntry& entry : manifest.entries) {
    InspectedTensor& tensor = tensors[{entry.kind, entry.name}];
    const auto& files = tensor.files;
    const bool known = std::find(files.begin(), files.end(), entry.file) != files.end();
    if (!known) tensor.files.push_back(entry.file);
    tensor = {entry.kind, entry.name, entry.dtype, entry.global_shape, std::move(tensor.files)};
    with_tensors.insert(entry.file);
  }
  for (auto& [key, tensor] : tensors) inspection.tensors.push_back(std::move(tensor));
  inspection.facts = {{"step", manifest.step},
                      {"samples used", manifest.data_cursor},
                      {"seed", manifest.seed},
                      {"epoch of the membership", manifest.epoch},
                      {"job hash", manifest.job_hash}};
  add_extra(manifest.extra, inspection.facts);
  add_other_files(disk, with_tensors, inspection);
  return inspection;
}

Inspection inspect_model(const Disk& disk, const std::string& directory) {
  const ModelFiles files(disk, directory);
  Inspection inspection{directory, {}, Json::object(), {}};
  std::set<std::string> with_tensors;
  for (const std::string& name : files.names()) {
    const TensorSpec& spec = files.spec(name);
    inspection.tensors.push_back({"weight", name, spec.dtype, spec.shape, {files.file_of(name)}});
    with_tensors.insert(files.file_of(name));
  }
  const std::string config_path = join_path(directory, "config.json");
  if (disk.exists(config_path)) {
    const Json config = try_parse_json<Json>(read_text(disk, config_path, config_bytes_max));
    for (const char* key : {"model_type", "architectures", "torch_dtype", "dtype", "tie_word_embeddings",
                            "transformers_version"})
      if (config.is_object() && config.contains(key)) inspection.facts[key] = config[key];
  }
  add_other_files(disk, with_tensors, inspection);
  return inspection;
}

std::string plain(const Json& value) {
  return value.is_string() ? value.get<std::string>() : json_text(value);
}

std::string table_of(const std::vector<InspectedTensor>& tensors) {
  std::vector<std::array<std::string, 4>> rows{{"kind", "dtype", "shape", "file"}};
  for (const InspectedTensor& tensor : tensors)
    rows.push_back({tensor.kind, std::string(safetensors_name(tensor.dtype)), to_text(tensor.shape),
                    fmt::format("{}", fmt::join(tensor.files, ","))});
  std::array<std::size_t, 4> widths{};
  for (const auto& row : rows)
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  std::string text;
  for (std::size_t i = 0; i < rows.size(); ++i)
    text += fmt::format("{:<{}}  {:<{}}  {:<{}}  {:<{}}  {}\n", rows[i][0], widths[0], rows[i][1], widths[1],
                        rows[i][2], widths[2], rows[i][3], widths[3], i == 0 ? "name" : tensors[i - 1].name);
  return text;
}

}  // namespace

Inspection inspect_folder(const Disk& disk, const std::string& directory) {
  D9D_REQUIRE(disk.exists(directory), "{} is not there", directory);
  if (disk.exists(join_path(directory, manifest_name))) return inspect_checkpoint(disk, directory);
  D9D_REQUIRE(holds_model_state(disk, directory),
              "{} is neither a checkpoint ({}) nor the folder of a model ({} or {})", directory,
              manifest_name, model_single_name, model_index_name);
  return inspect_model(disk, directory);
}

std::string to_text(const Inspection& inspection) {
  std::string text = inspection.path + "\n\n" + table_of(inspection.tensors) + "\n";
  for (const auto& [kind, total] : totals_of(inspection))
    text += fmt::format("{}: {}, {}, {}\n", kind, counted(total.tensors, "tensor"),
                        counted(total.values, "value"), size_text(total.bytes));
  if (!inspection.facts.empty()) text += "\n";
  for (const auto& [key, value] : inspection.facts.items())
    text += fmt::format("{}: {}\n", key, plain(value));
  if (!inspection.other_files.empty()) text += "\nother files:\n";
  for (const DirectoryEntry& file : inspection.other_files)
    text += fmt::format("  {}{}\n", file.name, file.is_directory ? "/" : "  " + size_text(file.size));
  return text;
}

Json to_json(const Inspection& inspection) {
  Json tensors = Json::array(), totals = Json::object(), files = Json::array();
  for (const InspectedTensor& tensor : inspection.tensors)
    tensors.push_back({{"kind", tensor.kind},
                       {"name", tensor.name},
                       {"dtype", safetensors_name(tensor.dtype)},
                       {"shape", tensor.shape},
                       {"bytes", tensor.bytes()},
                       {"files", tensor.files}});
  for (const auto& [kind, total] : totals_of(inspection))
    totals[kind] = {{"tensors", total.tensors}, {"values", total.values}, {"bytes", total.bytes}};
  for (const DirectoryEntry& file : inspection.other_files)
    if (!file.is_directory) files.push_back({{"name", file.name}, {"bytes", file.size}});
  return {{"path", inspection.path},
          {"tensors", tensors},
          {"totals", totals},
          {"facts", inspection.facts},
          {"other_files", files}};
}

}  // namespace d9d
