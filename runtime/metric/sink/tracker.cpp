#include "runtime/metric/sink/tracker.hpp"

#include "runtime/base/json_text.hpp"

namespace d9d {
namespace {

void flatten(const std::string& path, const nlohmann::json& node,
             std::vector<std::pair<std::string, nlohmann::json>>& out) {
  if (node.is_structured() && !node.empty()) {
    for (const auto& [key, child] : node.items()) flatten(path.empty() ? key : path + "/" + key, child, out);
    return;
  }
  out.emplace_back(path, node);
}

}  // namespace

std::string flat_name(const Point& point) {
  std::string name;
  for (const auto& [key, value] : point.context) name += value + "/";
  return name + point.name;
}

std::vector<std::pair<std::string, nlohmann::json>> flat_hparams(const nlohmann::json& hparams) {
  std::vector<std::pair<std::string, nlohmann::json>> out;
  if (hparams.is_structured() && !hparams.empty()) flatten("", hparams, out);
  return out;
}

std::string text_of(const nlohmann::json& leaf) {
  return leaf.is_string() ? leaf.get<std::string>() : json_text(leaf);
}

}  // namespace d9d
