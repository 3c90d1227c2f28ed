#include "runtime/data/config/epochs.hpp"

#include "runtime/base/config/scalar.hpp"

namespace d9d {
namespace {

constexpr const char* as_needed = "as_needed";

}  // namespace

bool config::Codec<Epochs>::read(Epochs& out, const Node& node, const Path& path, Problems& problems) {
  if (node.kind == Node::Kind::scalar) {
    const auto count = node.quoted ? std::nullopt : integer_from(node.text);
    if (node.text == as_needed || (count && *count > 0)) {
      out.count = count;
      return true;
    }
  }
  return wrong_type(node, path, problems, "a number of epochs", "write a number > 0, or as_needed");
}

config::Json config::Codec<Epochs>::write(const Epochs& epochs) {
  return epochs.count ? Json(*epochs.count) : Json(as_needed);
}

}  // namespace d9d
