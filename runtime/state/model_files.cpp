#include "runtime/state/model_files.hpp"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <filesystem>

#include "runtime/base/error.hpp"
#include "runtime/state/model_index.hpp"
#include "runtime/tensor/torch_dtype.hpp"

namespace d9d {

ModelFiles::ModelFiles(const Disk& disk, const std::string& directory) : directory_(directory) {
  const auto weights = read_weight_map(disk, directory);
  std::set<std::string> names;
  if (weights)
    for (const auto& [tensor, file] : *weights) names.insert(file);
  else
    names.insert(model_single_name);
  for (const auto& name : names) {
    files_.push_back(std::make_unique<SafetensorsReader>(disk, join_path(directory, name)));
    for (const auto& tensor : files_.back()->names()) {
      // A shard may hold a tensor that the index places elsewhere; the index decides.
      const bool elsewhere = weights && weights->contains(tensor) && weights->at(tensor) != name;
      if (!elsewhere) add(tensor, files_.size() - 1);
    }
  }
  if (!weights) return;
  for (const auto& [tensor, file] : *weights)
    D9D_REQUIRE(places_.contains(tensor), "{} says that \"{}\" lies in {}, but it does not",
                join_path(directory, model_index_name), tensor, file);
}

void ModelFiles::add(const std::string& name, std::size_t file) {
  const auto [at, is_new] = places_.emplace(name, Place{file, files_[file]->at(name).offset});
  D9D_REQUIRE(is_new, "{} and {} both hold \"{}\", and the index names neither",
              files_[at->second.file]->path(), files_[file]->path(), name);
}

Names ModelFiles::names() const {
  Names names;
  for (const auto& [name, place] : places_) names.insert(name);
  return names;
}

std::string ModelFiles::file_of(const std::string& name) const {
  return std::filesystem::path(reader_of(name).path()).filename().string();
}

at::Tensor ModelFiles::shape_only(const std::string& name) const {
  return d9d::shape_only(spec(name));
}

std::vector<const StateGroup*> ModelFiles::in_disk_order(const StateMapper& mapper) const {
  Names missing;
  using Key = std::pair<std::size_t, std::uint64_t>;
  std::vector<std::pair<Key, const StateGroup*>> order;
  for (const auto& group : mapper.groups()) {
    Key first{files_.size(), 0};
    for (const auto& name : group.inputs) {
      const auto place = places_.find(name);
      if (place == places_.end())
        missing.insert(name);
      else
        first = std::min(first, {place->second.file, place->second.offset});
    }
    order.emplace_back(first, &group);
  }
  D9D_REQUIRE(missing.empty(), "{} lacks tensors that the model needs: {}", directory_, to_text(missing));
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<const StateGroup*> groups;
  for (const auto& [key, group] : order) groups.push_back(group);
  return groups;
}

const SafetensorsReader& ModelFiles::reader_of(const std::string& name) const {
  const auto place = places_.find(name);
  D9D_REQUIRE(place != places_.end(), "{} holds no tensor \"{}\"", directory_, name);
  return *files_[place->second.file];
}

at::Tensor shape_only(const TensorSpec& spec) {
  return at::empty(spec.shape, at::TensorOptions(scalar_type_of(spec.dtype)).device(at::kMeta));
}

}  // namespace d9d
