#include "actors/dials.hpp"

#include <fmt/format.h>

#include <utility>

namespace d9d {

bool Dials::failed(int node, const std::string& reason) {
  return std::exchange(open_.at(node).reason, reason) != reason;
}

std::string Dials::missing() const {
  std::string text;
  for (const auto& [node, dial] : open_) {
    text += fmt::format("{}node {} at {}", text.empty() ? "" : ", ", node,
                        host_port_text(dial.at.host, dial.at.port));
    if (!dial.reason.empty()) text += fmt::format(" ({})", dial.reason);
  }
  return text;
}

}  // namespace d9d
