#include "runtime/family/provider_choice.hpp"

#include <fmt/ranges.h>

#include <algorithm>

#include "runtime/base/config/codec_struct.hpp"
#include "runtime/family/families.hpp"
#include "runtime/family/model_key.hpp"

namespace d9d {
namespace {

// A key as some families have it.
struct SharedKey {
  config::Row row;
  std::vector<std::string_view> families;
};

std::vector<SharedKey> keys_of_families(const std::string& path) {
  std::vector<SharedKey> shared;
  for (const Family* family : families()) {
    for (const ModelKey& key : family->blank()->keys()) {
      const config::Row row = config::make_row(path, key.key, key.type->name(), nullptr, false);
      auto found = std::ranges::find_if(shared, [&](const SharedKey& other) {
        return other.row.key == row.key && other.row.type == row.type && other.row.meaning == row.meaning;
      });
      if (found == shared.end()) found = shared.insert(found, {row, {}});
      found->families.push_back(family->name());
    }
  }
  return shared;
}

}  // namespace

ModelSection blank_section(const Family& family) {
  ModelSection section{&family, config::Json::object()};
  for (const ModelKey& key : family.blank()->keys()) section.keys[std::string(key.key.name)] = nullptr;
  return section;
}

}  // namespace d9d

namespace d9d::config {

bool Codec<ModelSection>::read(ModelSection& out, const Node& node, const Path& path, Problems& problems) {
  const std::shared_ptr<FamilyModel> model = out.family->blank();
  std::vector<Key> known;
  for (const ModelKey& key : model->keys()) known.push_back(key.key);
  bool good = check_keys(node, path, known, {}, problems);
  for (const ModelKey& key : model->keys()) {
    const Node* const given = node.find(key.key.name);
    if (given == nullptr) continue;
    Json& value = out.keys[std::string(key.key.name)];
    good = key.type->read(value, key.key, *given, Path{&path, key.key.name}, problems) && good;
  }
  return good;
}

Json Codec<ModelSection>::write(const ModelSection& section) {
  return section.family == nullptr ? Json::object() : section.keys;
}

void Codec<ModelSection>::tables(Reference& reference, const std::string& path, const ModelSection&) {
  Table table{path, {}};
  for (SharedKey& key : keys_of_families(path)) {
    if (key.families.size() < families().size())
      key.row.meaning += fmt::format(" ({})", fmt::join(key.families, ", "));
    table.rows.push_back(std::move(key.row));
  }
  reference.add(std::move(table));
  for (const Family* family : families()) {
    for (const ModelKey& key : family->blank()->keys()) {
      if (key.type->tables == nullptr) continue;
      const std::string here = fmt::format("{}.{}", path, key.key.name);
      key.type->tables(reference, here, fmt::format("{} with name: {}", here, family->name()));
    }
  }
}

}  // namespace d9d::config
