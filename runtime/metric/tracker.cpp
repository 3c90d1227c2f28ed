#include "runtime/metric/tracker.hpp"

namespace d9d {
namespace {

void flatten(const std::string& path, const nlohmann::json& node,
             std::vector<std::pair<std::string, std::string>>& out) {
  if (node.is_structured() && !node.empty()) {
    for (const auto& [key, child] : node.items()) flatten(path.empty() ? key : path + "/" + key, child, out);
    return;
  }
  out.emplace_back(path, node.is_string() ? node.get<std::string>() : node.dump());
}

}  // namespace

std::string flat_name(const Point& point) {
  std::string name;
  for (const auto& [key, value] : point.context) name += value + "/";
  return name + point.name;
}

std::vector<std::pair<std::string, std::string>> flat_hparams(const nlohmann::json& hparams) {
  std::vector<std::pair<std::string, std::string>> out;
  if (hparams.is_structured() && !hparams.empty()) flatten("", hparams, out);
  return out;
}

}  // namespace d9d
