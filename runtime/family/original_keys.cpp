#include "runtime/family/original_keys.hpp"

#include <set>

#include "runtime/base/error.hpp"

namespace d9d {

using nlohmann::json;

void rename_key(json& keys, const char* from, const char* to, const std::string& where) {
  if (!keys.contains(from)) return;
  D9D_REQUIRE(!keys.contains(to), "{}.{}: means the same as {}, which is given too; keep one", where, from,
              to);
  keys[to] = keys[from];
  keys.erase(from);
}

void flatten_layer(json& keys, const std::string& where) {
  if (!keys.contains("layer")) return;
  const json layer = keys["layer"];
  keys.erase("layer");
  for (const auto& [name, value] : layer.items()) {
    D9D_REQUIRE(!keys.contains(name), "{}.{}: given beside `layer`, which says it already; keep one", where,
                name);
    keys[name] = value;
  }
}

std::vector<VocabularyPart> take_vocabulary(json& keys, const std::string& where) {
  const json sizes = keys.value("split_vocab_size", json::object());
  const json order = keys.value("split_vocab_order", json::array());
  keys.erase("split_vocab_size");
  keys.erase("split_vocab_order");
  if (sizes.empty() && order.empty()) return {};
  D9D_REQUIRE(!keys.contains("vocab_size"), "{}.vocab_size: given beside split_vocab_size; keep one", where);
  std::set<std::string> names;
  for (const json& name : order) names.insert(name.get<std::string>());
  std::int64_t total = 0;
  for (const auto& [name, size] : sizes.items()) {
    D9D_REQUIRE(names.contains(name),
                "{}.split_vocab_order: does not name \"{}\" of split_vocab_size; add it", where, name);
    D9D_REQUIRE(!name.empty() && name.find('.') == std::string::npos,
                "{}.split_vocab_size: the part \"{}\" gives its name to modules; choose one without a dot",
                where, name);
    D9D_REQUIRE(size.get<std::int64_t>() > 0, "{}.split_vocab_size.{}: is {}; give at least 1", where, name,
                size.get<std::int64_t>());
    total += size.get<std::int64_t>();
  }
  D9D_REQUIRE(names.size() == sizes.size() && order.size() == names.size(),
              "{}.split_vocab_order: names {} parts, split_vocab_size has {}; name each once", where,
              order.size(), sizes.size());
  keys["vocab_size"] = total;
  std::vector<VocabularyPart> parts;
  for (const json& name : order)
    parts.push_back({name.get<std::string>(), sizes[name.get<std::string>()].get<std::int64_t>()});
  return parts.size() > 1 ? parts : std::vector<VocabularyPart>();
}

}  // namespace d9d
