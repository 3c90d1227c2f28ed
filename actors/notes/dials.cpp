#include "actors/notes/dials.hpp"

#include <fmt/format.h>

#include <utility>

namespace d9d {

namespace {

// A failed try has a reason. A dial without one is connected, and the other side has not answered.
const std::string silence =
    "it takes connections but does not answer; is its process stopped, or does something else listen there?";
const std::string not_dialled = "it has not reached this node; its log says why";

}  // namespace

bool Dials::failed(int node, const std::string& reason) {
  return std::exchange(open_.at(node).reason, reason) != reason;
}

std::string Dials::missing() const {
  std::string text;
  for (const auto& [node, dial] : open_) {
    const std::string& without_reason = dial.dials_us ? not_dialled : silence;
    text += fmt::format("{}node {} at {} ({})", text.empty() ? "" : ", ", node,
                        host_port_text(dial.at.host, dial.at.port),
                        dial.reason.empty() ? without_reason : dial.reason);
  }
  return text;
}

}  // namespace d9d
