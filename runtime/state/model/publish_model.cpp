#include "runtime/state/model/publish_model.hpp"

#include <fmt/format.h>
#include <fnmatch.h>

#include <nlohmann/json.hpp>

#include "runtime/base/error.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/state/model/model_index.hpp"

namespace d9d {
namespace {

using Json = nlohmann::json;

std::string final_name(std::size_t index, std::size_t count) {
  if (count == 1) return model_single_name;
  return fmt::format("model-{:05}-of-{:05}.safetensors", index + 1, count);
}

// The index goes first: without it the shards count for nothing.
void remove_older_export(Disk& disk, const std::string& directory) {
  disk.remove_all(join_path(directory, model_index_name));
  for (const auto& entry : disk.list(directory))
    if (entry.name == model_single_name || ::fnmatch("model-*-of-*.safetensors", entry.name.c_str(), 0) == 0)
      disk.remove_all(join_path(directory, entry.name));
}

}  // namespace

std::string to_json(const std::vector<WrittenShard>& shards) {
  Json list = Json::array();
  for (const auto& shard : shards)
    list.push_back({{"temporary", shard.temporary}, {"tensors", shard.tensors}, {"bytes", shard.bytes}});
  return json_text(list);
}

std::vector<WrittenShard> written_shards_from_json(const std::string& text) {
  try {
    std::vector<WrittenShard> shards;
    for (const auto& json : parse_json<Json>(text))
      shards.push_back({json.at("temporary").get<std::string>(),
                        json.at("tensors").get<std::vector<std::string>>(),
                        json.at("bytes").get<std::uint64_t>()});
    return shards;
  } catch (const Json::exception& error) {
    throw Error(ErrorKind::input, fmt::format("list of written shards: {}", error.what()));
  }
}

void publish_model_state(Disk& disk, const std::string& directory, const std::vector<WrittenShard>& shards,
                         const ModelShare& share) {
  WeightMap weights;
  std::uint64_t total_bytes = 0;
  for (std::size_t i = 0; i < shards.size(); ++i) {
    total_bytes += shards[i].bytes;
    for (const auto& tensor : shards[i].tensors) {
      const auto [at, is_new] = weights.emplace(tensor, final_name(i, shards.size()));
      D9D_REQUIRE(is_new, "two writers have written \"{}\"; give each its own share of the mapper", tensor);
    }
  }
  if (share.count == 1) remove_older_export(disk, directory);
  for (std::size_t i = 0; i < shards.size(); ++i)
    if (share.has(i, shards.size()))
      disk.rename(join_path(directory, shards[i].temporary),
                  join_path(directory, final_name(i, shards.size())));
  if (shards.size() != 1 && share.index == 0) {
    const Json index = {{"metadata", {{"total_size", total_bytes}}}, {"weight_map", weights}};
    write_text(disk, join_path(directory, model_index_name), json_text(index, 2) + "\n");
  }
  disk.sync_directory(directory);
}

}  // namespace d9d
