#include "runtime/job/section/process_count.hpp"

#include "runtime/base/config/scalar.hpp"

namespace d9d::config {

bool Codec<ProcessCount>::read(ProcessCount& out, const Node& node, const Path& path, Problems& problems) {
  if (node.kind == Node::Kind::scalar) {
    if (node.text == "per_device") {
      out = {.per_device = true};
      return true;
    }
    const auto count = node.quoted ? std::nullopt : integer_from(node.text);
    if (count && *count > 0) {
      out = {.count = *count};
      return true;
    }
  }
  return wrong_type(node, path, problems, "a number of processes", "write a number > 0 or per_device");
}

Json Codec<ProcessCount>::write(const ProcessCount& processes) {
  return processes.per_device ? Json("per_device") : Json(processes.count);
}

}  // namespace d9d::config
