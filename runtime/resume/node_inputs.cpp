#include "runtime/resume/node_inputs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <vector>

#include "runtime/base/count.hpp"
#include "runtime/base/error.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/resume/file_print.hpp"
#include "runtime/resume/input_files.hpp"
#include "runtime/state/checkpoint/manifest.hpp"
#include "runtime/state/disk/checksum.hpp"

namespace d9d {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using Prints = std::vector<FilePrint>;

constexpr std::size_t spread_files_max = 64;  // 1 MiB is read of each; of more files, 128 KiB of each
constexpr std::size_t files_max = 500;        // a Join is at most 1 MiB long
constexpr const char* tokenizer_key = "tokenizer";

// Of files whose number would make the start slow: only their sizes and their order count.
FilePrint print_of_sizes(const std::vector<std::string>& files) {
  FilePrint all{counted(files.size(), "file"), 0, 0};
  std::string sizes;
  for (const std::string& file : files) {
    std::error_code unreadable;
    const std::uint64_t bytes = fs::file_size(file, unreadable);
    if (unreadable) continue;
    all.bytes += bytes;
    sizes += fmt::format("{} ", bytes);
  }
  all.checksum = checksum_of(sizes);
  return all;
}

Prints sampled(const Disk& disk, const std::vector<std::string>& files) {
  if (files.size() > files_max) return {print_of_sizes(files)};
  const PrintBlocks blocks = files.size() > spread_files_max ? PrintBlocks::ends : PrintBlocks::spread;
  Prints prints;
  for (const std::string& file : files) {
    try {
      prints.push_back(print_of(disk, file, blocks));
      prints.back().name = file_name(file);
    } catch (const Error&) {
      continue;
    }
  }
  return prints;
}

bool is_a_folder(const std::string& place) {
  std::error_code unreadable;
  return fs::is_directory(place, unreadable);
}

bool is_a_file(const std::string& place) {
  std::error_code unreadable;
  return fs::is_regular_file(place, unreadable);
}

FilePrint print_of_text(const std::string& name, const std::string& text) {
  return {name, text.size(), checksum_of(text)};
}

// Every byte counts: of a library or a vocabulary, where a few change what all ranks compute.
Prints print_of_whole(const Disk& disk, const std::string& path) {
  constexpr std::uint64_t bytes_max = 64 << 20;
  try {
    const auto file = disk.open(path);
    if (file->size() > bytes_max) return sampled(disk, {path});
    std::string bytes(file->size(), '\0');
    file->read(0, bytes.data(), bytes.size());
    return {print_of_text(file_name(path), bytes)};
  } catch (const Error&) {
    return {};
  }
}

// Files that belong to the model's folder and change nothing that a node computes.
bool is_beside_the_tokenizer(const std::string& name) {
  return name.starts_with("carried.") || name == "preprocessor_config.json" ||
         name == "processor_config.json";
}

Prints sampled(const TokenizerFiles& files) {
  Prints prints;
  for (const auto& [name, text] : files)
    if (!is_beside_the_tokenizer(name)) prints.push_back(print_of_text(name, text));
  return prints;
}

// A folder that a checkpoint or an export made has a list with the checksums of its files.
Prints prints_of_weights(const Disk& disk, const std::string& place, bool with_settings) {
  if (!is_a_folder(place)) return sampled(disk, {place});
  auto files = model_files_in(place);
  if (!with_settings) std::erase_if(files, [](const auto& file) { return file_name(file) == "config.json"; });
  const std::string list = (fs::path(place) / manifest_name).string();
  if (is_a_file(list)) files.push_back(list);
  return sampled(disk, files);
}

Prints prints_of_tokenizer(const Disk& disk, const std::string& place) {
  if (!is_a_folder(place)) return print_of_whole(disk, place);
  try {
    return sampled(tokenizer_files_in(disk, place));
  } catch (const Error&) {
    return {};
  }
}

bool is_data(const std::string& key) {
  return key == "data" || key == "evaluation.data";
}

// A name that may come from a stranger.
std::string shown_name(const std::string& name) {
  return shown_json(Json(name.substr(0, 200)));
}

std::string told_print(const FilePrint& mine, const FilePrint& other) {
  if (mine.bytes == other.bytes) return fmt::format("{} has other bytes there", mine.name);
  return fmt::format("{} has {} bytes at node 0, {} there", mine.name, mine.bytes, other.bytes);
}

// Data is read in this order, whatever its files are called.
std::string told_lists(const Prints& mine, const Prints& theirs) {
  const std::size_t both = std::min(mine.size(), theirs.size());
  if (mine.size() != theirs.size()) {
    std::size_t at = 0;
    while (at < both && have_same_content(mine[at], theirs[at])) ++at;
    const Prints& longer = mine.size() > theirs.size() ? mine : theirs;
    return fmt::format("it has {} at node 0, {} there, and {} is only {}", counted(mine.size(), "file"),
                       theirs.size(), shown_name(longer[at].name),
                       mine.size() > theirs.size() ? "at node 0" : "there");
  }
  for (std::size_t i = 0; i < both; ++i)
    if (!have_same_content(mine[i], theirs[i])) return told_print(mine[i], theirs[i]);
  return {};
}

// Files of a folder are known by their names. A node may lack some, for the code that needs them tells.
std::string told_folders(const Prints& mine, const Prints& theirs) {
  std::map<std::string, FilePrint> there;
  for (const FilePrint& print : theirs) there.emplace(print.name, print);
  std::size_t common = 0;
  for (const FilePrint& print : mine) {
    const auto found = there.find(print.name);
    if (found == there.end()) continue;
    ++common;
    if (!have_same_content(print, found->second)) return told_print(print, found->second);
  }
  if (common < mine.size() && common < there.size() && mine.front().name != theirs.front().name)
    return fmt::format("it has {} at node 0, {} there", mine.front().name, shown_name(theirs.front().name));
  return {};
}

}  // namespace

std::string node_inputs(const Disk& disk, const JobConfig& job, const TokenizerFiles& tokenizer) {
  std::map<std::string, Prints> inputs;
  const auto add = [&](const std::string& key, const Prints& prints) {
    auto& all = inputs[key];
    all.insert(all.end(), prints.begin(), prints.end());
  };
  inputs["data"] = sampled(disk, data_files(job.data));
  if (job.evaluation) inputs["evaluation.data"] = sampled(disk, data_files(job.evaluation->data));
  inputs[tokenizer_key] = sampled(tokenizer);
  for (const auto& [key, path] : inputs_of(job)) {
    if (is_data(key) || key.ends_with(".cache") || key == "model_provider.from" ||
        !(is_a_file(path) || is_a_folder(path)))
      continue;  // `from` is compared as keys of the job; a cache is made of the data
    if (key.ends_with(".tokenizer")) {
      add(key, prints_of_tokenizer(disk, path));
    } else if (key == "plugins") {
      add(key, print_of_whole(disk, path));
    } else {
      add(key, prints_of_weights(disk, path, job.inference.has_value()));
    }
  }
  Json json = Json::object();
  for (const auto& [key, prints] : inputs)
    if (!prints.empty()) json[key] = json_of(prints);
  return shown_json(json);
}

std::string told_other_inputs(const std::string& at_node_0, std::string_view theirs) {
  const Json mine = try_parse_json<Json>(at_node_0), other = try_parse_json<Json>(theirs);
  if (!mine.is_object() || !other.is_object()) return {};
  std::string all;
  for (const auto& [key, list] : mine.items()) {
    if (!other.contains(key)) continue;
    const Prints here = prints_from(list), there = prints_from(other.at(key));
    if (here.empty() || there.empty()) continue;
    const std::string one = is_data(key) ? told_lists(here, there) : told_folders(here, there);
    if (!one.empty()) all += fmt::format("{}{}: {}", all.empty() ? "" : "; ", key, one);
  }
  if (all.empty()) return {};
  return fmt::format(
      "what it reads differs from what node 0 reads: {}. Copy it from the host of node 0, or let all hosts "
      "read one folder",
      all);
}

}  // namespace d9d
