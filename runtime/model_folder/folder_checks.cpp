#include "runtime/model_folder/folder_checks.hpp"

#include <ATen/ops/equal.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>

#include "runtime/base/count.hpp"
#include "runtime/base/error.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/family/folder/folder_names.hpp"

namespace d9d {
namespace {

constexpr std::uint64_t folder_config_bytes_max = std::uint64_t{1} << 24;
constexpr std::int64_t compared_bytes = 4 << 20;  // at once

// One more than the last layer of these names.
std::int64_t layers_of(const Names& names) {
  constexpr std::string_view prefix = "model.layers.";
  std::int64_t layers = 0;
  for (auto at = names.lower_bound(std::string(prefix)); at != names.end() && at->starts_with(prefix); ++at) {
    std::int64_t layer = 0;
    const auto end = at->data() + at->size();
    const auto [stop, error] = std::from_chars(at->data() + prefix.size(), end, layer);
    if (error == std::errc() && stop != end && *stop == '.') layers = std::max(layers, layer + 1);
  }
  return layers;
}

bool equal_rows(const ModelFiles& files, const std::string& a, const std::string& b) {
  const TensorSpec& spec = files.spec(a);
  if (spec.shape != files.spec(b).shape) return false;
  if (spec.shape.size() != 2 || num_elements(spec.shape) == 0) return at::equal(files.read(a), files.read(b));
  const std::int64_t rows = std::max<std::int64_t>(1, compared_bytes / (spec.shape[1] * size_of(spec.dtype)));
  for (std::int64_t row = 0; row < spec.shape[0]; row += rows) {
    const Slice box{{row, 0}, {std::min(row + rows, spec.shape[0]), spec.shape[1]}};
    const at::Tensor one = files.read(a, box), other = files.read(b, box);
    const bool equal = one.scalar_type() == other.scalar_type()
                           ? std::memcmp(one.const_data_ptr(), other.const_data_ptr(), one.nbytes()) == 0
                           : at::equal(one.to(at::kDouble), other.to(at::kDouble));
    if (!equal) return false;
  }
  return true;
}

// "" without any.
std::string leftover_quantisation(const Disk& disk, const ModelFiles& files) {
  const std::string path = join_path(files.directory(), "config.json");
  if (files.dequantises() || !disk.exists(path)) return "";
  using Json = nlohmann::json;
  const Json config = try_parse_json<Json>(read_text(disk, path, folder_config_bytes_max));
  if (!config.is_object()) return "";
  for (const char* at : {"/quantization_config", "/text_config/quantization_config"}) {
    const Json::json_pointer pointer(at);
    if (!config.contains(pointer) || config.at(pointer).is_null()) continue;
    const Json& given = config.at(pointer);
    const std::string method =
        given.is_object() && given.contains("quant_method") ? json_text(given["quant_method"]) : "";
    return fmt::format(
        "{} has quantization_config{}, but no weight beside it is quantised: they are taken as they are",
        path, method.empty() ? "" : " (quant_method " + method + ")");
  }
  return "";
}

std::string unread_parts(const ModelFiles& files, const FolderNames& folder) {
  const Names& others = folder.of_other_parts();
  if (others.empty()) return "";
  std::set<std::string> parts;
  for (const std::string& name : others) {
    const std::string inner = name.starts_with("model.") ? name.substr(6) : name;
    parts.insert(inner.substr(0, inner.find('.')));
  }
  return fmt::format("{} is a multimodal model: its text model alone is read and exported, without {} of {}",
                     files.directory(), counted(others.size(), "tensor"), fmt::join(parts, ", "));
}

}  // namespace

void require_layers(const ModelFiles& files, const FamilyModel& config) {
  const std::int64_t stored = layers_of(FolderNames(files.names(), config.tie_word_embeddings).names());
  D9D_REQUIRE(
      stored == 0 || config.num_hidden_layers <= stored,
      "the model has {} layers (num_hidden_layers), the weights of {} are of {}; is it another model?",
      config.num_hidden_layers, files.directory(), stored);
}

void require_one_head(const ModelFiles& files, const FamilyModel& config) {
  if (!config.ties_head()) return;
  const FolderNames folder(files.names(), true);
  if (!folder.names().contains(embedding_table) || !folder.names().contains(head_table)) return;
  const std::string embedding = folder.in_folder(embedding_table), head = folder.in_folder(head_table);
  D9D_REQUIRE(
      equal_rows(files, embedding, head),
      "{}: tie_word_embeddings is true, but {} ({}) has other values than {}, and transformers would take "
      "them; set tie_word_embeddings to false to use that head, or remove it",
      files.directory(), head, files.file_of(head), embedding);
}

std::vector<std::string> folder_notes(const Disk& disk, const ModelFiles& files, const FamilyModel& config) {
  std::vector<std::string> notes = files.notes();
  const FolderNames folder(files.names(), config.tie_word_embeddings);
  for (const std::string& text : {leftover_quantisation(disk, files), unread_parts(files, folder)}) {
    if (!text.empty()) notes.push_back(text);
  }
  return notes;
}

}  // namespace d9d
