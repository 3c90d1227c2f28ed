#include "runtime/state/model/model_index.hpp"

#include <fmt/ranges.h>
#include <fnmatch.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>

#include "runtime/base/count.hpp"
#include "runtime/base/error.hpp"
#include "runtime/base/json_text.hpp"

namespace d9d {
namespace {

using Json = nlohmann::json;

constexpr std::uint64_t index_bytes_max = 500'000'000;

bool matches(const std::string& name, const char* pattern) {
  return ::fnmatch(pattern, name.c_str(), 0) == 0;
}

// Says what the folder holds instead of readable weights, and what to do. The first
// pattern that matches counts.
struct Instead {
  const char* pattern;
  const char* sentence;  // follows the file's name
};
constexpr Instead others[] = {
    {"adapter_model.*", "is an adapter's: give the folder of its base model"},
    {"model-*-of-*.safetensors", "is a shard without its index: download model.safetensors.index.json too"},
    {"model.*.safetensors", "is a variant: rename it to model.safetensors to use it"},
    {"model.safetensors.index.*.json",
     "is a variant's index: rename it to model.safetensors.index.json to use it"},
    {"consolidated*.safetensors",
     "has names of its maker's own: take the folder in Hugging Face's format, of model*.safetensors"},
    {"consolidated*.pth", "has Meta's own names: take the folder in Hugging Face's format"},
    {"pytorch_model*.bin",
     "is a pickle: load the folder with transformers and save it by save_pretrained(), which writes "
     "safetensors"},
    {"*.gguf", "is GGUF: take the Hugging Face folder that it was made of"},
    {"tf_model.h5", "is TensorFlow's: load it with transformers (from_tf) and save it by save_pretrained()"},
    {"flax_model.msgpack",
     "is Flax's: load it with transformers (from_flax) and save it by save_pretrained()"},
    {"*.safetensors", "has another name: rename it to model.safetensors if it is the whole model"},
    {"*.bin", "may be a pickle: save the model by transformers' save_pretrained(), which writes safetensors"},
};

std::string found_instead(const Disk& disk, const std::string& directory) {
  if (!disk.exists(directory)) return "";
  const auto entries = disk.list(directory);
  for (const auto& [pattern, sentence] : others)
    for (const auto& entry : entries)
      if (!entry.is_directory && matches(entry.name, pattern))
        return fmt::format("; {} {}", entry.name, sentence);
  for (const auto& entry : entries) {
    const std::string inner = join_path(directory, entry.name);
    if (entry.is_directory && holds_model_state(disk, inner))
      return fmt::format("; {} is the folder of a model", inner);
    if (!entry.is_directory || entry.name != "snapshots") continue;
    for (const auto& snapshot : disk.list(inner))
      if (holds_model_state(disk, join_path(inner, snapshot.name)))
        return fmt::format("; {} is the folder of a model", join_path(inner, snapshot.name));
  }
  return "";
}

// Whether a path of an index names something below the folder.
bool stays_inside(const std::string& path) {
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    const std::string part = path.substr(begin, end - begin);
    if (part.empty() || part == "." || part == "..") return false;
    begin = end + 1;
  }
  return true;
}

}  // namespace

bool holds_model_state(const Disk& disk, const std::string& directory) {
  return disk.exists(join_path(directory, model_index_name)) ||
         disk.exists(join_path(directory, model_single_name));
}

std::unique_ptr<WeightMap> read_weight_map(const Disk& disk, const std::string& directory) {
  const auto path = join_path(directory, model_index_name);
  if (!disk.exists(path)) {
    D9D_REQUIRE(
        disk.exists(join_path(directory, model_single_name)),
        "{} holds neither {} nor {}; give the folder of a Hugging Face model with safetensors weights{}",
        directory, model_index_name, model_single_name, found_instead(disk, directory));
    return nullptr;
  }
  auto weights = std::make_unique<WeightMap>();
  try {
    *weights = parse_json<Json>(read_text(disk, path, index_bytes_max)).at("weight_map").get<WeightMap>();
  } catch (const Json::exception& error) {
    throw Error(ErrorKind::input, fmt::format("{} is not an index of weights: {}", path, error.what()));
  }
  for (const auto& [tensor, file] : *weights)
    D9D_REQUIRE(stays_inside(file),
                "{}: tensor \"{}\" lies in \"{}\", which is no path to a file below the folder", path, tensor,
                file);
  return weights;
}

ModelChoice choose_model_files(const Disk& disk, const std::string& directory) {
  ModelChoice choice;
  choice.weights = read_weight_map(disk, directory);
  if (!choice.weights) {
    choice.files.insert(model_single_name);
    return choice;
  }
  std::vector<std::string> missing;
  for (const auto& [tensor, file] : *choice.weights) choice.files.insert(file);
  for (const auto& file : choice.files)
    if (!disk.exists(join_path(directory, file))) missing.push_back(file);
  const std::string index = join_path(directory, model_index_name);
  const std::string single = join_path(directory, model_single_name);
  const bool has_other_single = disk.exists(single) && !choice.files.contains(model_single_name);
  D9D_REQUIRE(has_other_single || missing.empty(),
              "{} names {} that {} not there: {}; download the folder again, or remove the index if it is "
              "another model's",
              index, counted(missing.size(), "file"), missing.size() == 1 ? "is" : "are",
              fmt::join(std::span(missing).first(std::min<std::size_t>(missing.size(), 4)), ", "));
  D9D_REQUIRE(!has_other_single || !missing.empty(),
              "{} holds two models: {}, which transformers takes, and {} with its files ({}); remove the one "
              "that is not meant",
              directory, model_single_name, model_index_name, *choice.files.begin());
  if (!has_other_single) return choice;
  choice.notes.push_back(fmt::format("{} names {}, which is not there: {} is taken, as transformers does",
                                     index, missing.front(), single));
  choice.weights.reset();
  choice.files = {model_single_name};
  return choice;
}

}  // namespace d9d
