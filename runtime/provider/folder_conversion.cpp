#include "runtime/provider/folder_conversion.hpp"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "runtime/base/byte_order_mark.hpp"
#include "runtime/base/error.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/base/log.hpp"
#include "runtime/family/folder/folder_names.hpp"
#include "runtime/family/hugging_face_config.hpp"
#include "runtime/model_folder/carried_files.hpp"
#include "runtime/peft/adapter_cover.hpp"
#include "runtime/peft/merged_folder.hpp"
#include "runtime/provider/conversion_mapper.hpp"
#include "runtime/provider/hugging_face_model.hpp"
#include "runtime/provider/tokenizer_files.hpp"
#include "runtime/state/checkpoint/manifest.hpp"
#include "runtime/state/convert/model_converter.hpp"
#include "runtime/state/mapper/adapters.hpp"
#include "runtime/state/model/export_folder.hpp"
#include "runtime/state/model/model_files.hpp"
#include "runtime/state/model/model_index.hpp"
#include "runtime/state/model/publish_model.hpp"

namespace d9d {
namespace {

namespace fs = std::filesystem;

constexpr const char* model_config_name = "config.json";
constexpr std::uint64_t config_bytes_max = 16 << 20;
constexpr std::size_t copied_bytes = 1 << 20;  // at once

void copy_file(Disk& disk, const std::string& from, const std::string& to) {
  const auto source = disk.open(from);
  const auto target = disk.create(to);
  std::vector<char> piece(copied_bytes);
  for (std::uint64_t at = 0; at < source->size(); at += piece.size()) {
    piece.resize(std::min<std::uint64_t>(copied_bytes, source->size() - at));
    source->read(at, piece.data(), piece.size());
    target->write(at, piece.data(), piece.size());
  }
  target->close(true);
}

// Under whichever of its names the file has it, also in the config of a part of the model.
bool set_dtype(nlohmann::ordered_json& config, Dtype dtype) {
  bool found = false;
  for (auto& [key, value] : config.items()) {
    if (value.is_object()) found = set_dtype(value, dtype) || found;
    if ((key != "dtype" && key != "torch_dtype") || !value.is_string()) continue;
    value = std::string(name_of(dtype));
    found = true;
  }
  return found;
}

// What an adapter brings that its base does not have.
struct NewHead {
  std::string name = "score.weight";
  std::int64_t labels = 0;  // 0: there is none
};

NewHead new_head_of(const AdapterFolder& adapter, const MergedFolder& merged) {
  if (merged.added().empty()) return {};
  const TensorSpec& spec = merged.added().front();
  const NewHead head{.labels = spec.shape.empty() ? 0 : spec.shape.front()};
  D9D_REQUIRE(merged.added().size() == 1 && spec.name == head.name && adapter.task_type() == "SEQ_CLS",
              "{} holds {}, which the model's folder does not have; only the head of a classifier (task_type "
              "SEQ_CLS, {}) can be added to one",
              adapter.directory(), spec.name, head.name);
  return head;
}

void set_head(nlohmann::ordered_json& config, const NewHead& head) {
  const auto names = config.find("architectures");
  if (names != config.end() && names->is_array() && !names->empty() && names->front().is_string()) {
    std::string name = names->front();
    if (const auto at = name.rfind("ForCausalLM"); at != std::string::npos) name.erase(at);
    *names = {name + "ForSequenceClassification"};
  }
  if (config.contains("id2label") && std::ssize(config["id2label"]) == head.labels) return;
  config["id2label"] = config["label2id"] = nlohmann::ordered_json::object();
  for (std::int64_t label = 0; label < head.labels; ++label) {
    const std::string text = fmt::format("LABEL_{}", label);
    config["id2label"][std::to_string(label)] = text;
    config["label2id"][text] = label;
  }
}

// How the new folder's config.json differs from the old one.
struct ConfigChange {
  std::optional<Dtype> dtype;
  NewHead head;
  bool dequantised = false;  // no weight is quantised any more

  bool any() const { return dtype || head.labels > 0 || dequantised; }
};

void write_config(Disk& disk, const std::string& from, const std::string& to, const ConfigChange& change) {
  auto config = try_parse_json<nlohmann::ordered_json>(read_text(disk, from, config_bytes_max));
  D9D_REQUIRE(config.is_object(), "{} is not a JSON object; mend the file or remove it", from);
  const auto& [dtype, head, dequantised] = change;
  if (dtype && !set_dtype(config, *dtype)) config["torch_dtype"] = std::string(name_of(*dtype));
  if (head.labels > 0) set_head(config, head);
  if (dequantised) {
    config.erase("quantization_config");
    if (config.contains("text_config") && config["text_config"].is_object())
      config["text_config"].erase("quantization_config");
  }
  write_text(disk, to, json_text(config, 2) + "\n");
}

void carry_files(Disk& disk, const std::string& source, const ConfigChange& change,
                 const std::string& folder) {
  for (const DirectoryEntry& entry : disk.list(source)) {
    const std::string from = join_path(source, entry.name), to = join_path(folder, entry.name);
    if (entry.is_directory && entry.name == chat_templates_folder) {
      disk.make_directories(to);
      carry_files(disk, from, {}, to);
    }
    if (!is_carried(entry)) continue;
    if (change.any() && entry.name == model_config_name)
      write_config(disk, from, to, change);
    else
      copy_file(disk, from, to);
  }
}

// What weights of 8 bits become where nobody says: what config.json calls the dtype of the model.
Dtype dtype_of_config(const Disk& disk, const std::string& directory) {
  const std::string path = join_path(directory, model_config_name);
  if (!disk.exists(path)) return Dtype::bfloat16;
  const std::string text = read_text(disk, path, config_bytes_max);
  require_no_byte_order_mark(text, path);
  const auto config = try_parse_json<nlohmann::json>(text);
  for (const char* key : {"dtype", "torch_dtype"}) {
    if (!config.is_object() || !config.contains(key) || !config[key].is_string()) continue;
    const auto named = dtype_named(config[key].get<std::string>());
    if (named == Dtype::float32 || named == Dtype::float16) return *named;
  }
  return Dtype::bfloat16;
}

std::vector<std::string> files_left_by(const Disk& disk, const std::string& from, const ModelFiles& files) {
  std::set<std::string> used{model_index_name};
  for (const auto& name : files.names()) used.insert(files.file_of(name));
  std::vector<std::string> left;
  for (const DirectoryEntry& entry : disk.list(from)) {
    if (entry.name.starts_with(".") || used.contains(entry.name)) continue;
    const bool has_used = std::ranges::any_of(
        used, [&](const std::string& name) { return name.starts_with(entry.name + "/"); });
    if (entry.is_directory && entry.name != chat_templates_folder && !has_used)
      left.push_back(entry.name + "/");
    if (!entry.is_directory && holds_weights(entry.name)) left.push_back(entry.name);
  }
  return left;
}

void require_folders(const Disk& disk, const FolderConversion& conversion) {
  const auto& [from, to] = std::tie(conversion.from, conversion.to);
  D9D_REQUIRE(disk.exists(from), "{} is not there; give the folder of a Hugging Face model", from);
  D9D_REQUIRE(!disk.exists(join_path(from, manifest_name)),
              "{} is a training checkpoint; `d9d-node export` makes the folder of a model of it", from);
  D9D_REQUIRE(conversion.base.empty() || !disk.exists(to) || !fs::equivalent(conversion.base, to),
              "{} is the folder of the adapter's base; give another one for the result", to);
  D9D_REQUIRE(!disk.exists(to) || !fs::equivalent(from, to),
              "{} and {} are the same folder; give another one for the result", from, to);
  if (!disk.exists(to) || conversion.replace || has_half_a_model(disk, to)) return;
  for (const DirectoryEntry& entry : disk.list(to))
    D9D_REQUIRE(entry.is_directory || !is_model_file(entry.name),
                "{} holds {} already; give another folder, or --replace", to, entry.name);
}

// Where the weights come from.
struct ConversionSource {
  ConversionSource(const Disk& disk, const FolderConversion& conversion) {
    if (is_adapter_folder(disk, conversion.from)) adapter.emplace(disk, conversion.from);
    D9D_REQUIRE(adapter || conversion.base.empty(),
                "--base is for the folder of an adapter, and {} is none; leave it out", conversion.from);
    const std::string folder = adapter ? base_of_adapter(disk, *adapter, conversion.base) : conversion.from;
    const Dtype of_config = dtype_of_config(disk, folder);
    files.emplace(disk, folder, conversion.dtype.value_or(of_config));
    for (const std::string& note : files->notes()) log::warn("{}", note);
    if (!adapter) return;
    merged.emplace(*files, *adapter);
    say_modules_without_factors(disk, conversion.from, *files, *merged);
    head = new_head_of(*adapter, *merged);
    D9D_REQUIRE(
        head.labels == 0 || conversion.mapper.empty(),
        "{} brings a head of its own, which --mapper {} does not know; merge it first, and convert the "
        "result",
        conversion.from, conversion.mapper);
  }
  const TensorSource& tensors() const { return merged ? static_cast<const TensorSource&>(*merged) : *files; }

  std::optional<AdapterFolder> adapter;
  std::optional<ModelFiles> files;
  std::optional<MergedFolder> merged;
  NewHead head;
};

// A classifier has no head of words.
ConversionMapper with_new_head(const MergedFolder& merged) {
  Names names = merged.names(), left;
  if (names.erase(head_table) > 0) left.insert(head_table);
  return {identities(names), {}, {}, left};
}

std::vector<const StateGroup*> groups_from(const ConversionSource& source, const StateMapper& mapper) {
  if (source.head.labels == 0) return source.files->in_disk_order(mapper);
  const Names names = inputs_of(mapper);
  return groups_in_order(mapper, {names.begin(), names.end()});
}

// transformers draws such tensors at random. Says nothing of families that are not known here.
void name_what_is_missing(const Disk& disk, const std::string& directory) {
  std::shared_ptr<FamilyModel> config;
  try {
    config = read_hugging_face_config(directory);
  } catch (const Error&) {
    return;
  }
  try {
    check_hugging_face_weights(disk, directory, *config);
  } catch (const Error& error) {
    log::warn(
        "{}; the new folder is no whole model either, and transformers may draw at random what it lacks",
        error.what());
  }
}

}  // namespace

ConversionSummary convert_folder(Disk& disk, const FolderConversion& conversion, const NamedMappers& named) {
  require_folders(disk, conversion);
  const ConversionSource source(disk, conversion);
  const ModelFiles& files = *source.files;
  if (conversion.mapper.empty()) name_what_is_missing(disk, files.directory());
  const ConversionMapper chosen = source.head.labels > 0
                                      ? with_new_head(*source.merged)
                                      : choose_conversion_mapper(files, conversion.mapper, named);
  ConversionOptions options;
  options.shard_bytes_max = conversion.shard_bytes_max;
  options.dtype = conversion.dtype ? conversion.dtype : chosen.dtype;
  options.dtypes = chosen.dtypes;
  options.box_bytes = conversion.box_bytes;
  options.threads = conversion.threads;
  options.progress = conversion.progress;
  ConversionSummary summary;
  summary.left_tensors.assign(chosen.left_out.begin(), chosen.left_out.end());
  summary.left_files = files_left_by(disk, files.directory(), files);
  write_model_folder(disk, conversion.to, [&](const std::string& folder) {
    const auto shards = convert_model_state(source.tensors(), *chosen.mapper,
                                            groups_from(source, *chosen.mapper), disk, folder, options);
    for (const auto& shard : shards) {
      summary.num_tensors += shard.tensors.size();
      summary.bytes += shard.bytes;
    }
    summary.num_shards = shards.size();
    const auto dtype = options.dtype || !files.dequantises()
                           ? options.dtype
                           : std::optional(dtype_of_config(disk, files.directory()));
    carry_files(disk, files.directory(), {dtype, source.head, files.dequantises()}, folder);
    if (source.adapter) add_tokenizer_files(disk, folder, tokenizer_files_in(disk, conversion.from));
    publish_model_state(disk, folder, shards);
  });
  return summary;
}

}  // namespace d9d
