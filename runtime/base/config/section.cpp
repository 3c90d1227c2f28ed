#include "runtime/base/config/section.hpp"

#include <fmt/format.h>

namespace d9d::config {

bool Codec<Section>::read(Section& out, const Node& node, const Path& path, Problems& problems) {
  out.node = node;
  out.path = path.str();
  if (node.kind == Node::Kind::map || node.kind == Node::Kind::null) return true;
  return wrong_type(node, path, problems, "a section (a map)", "write `key: value` lines");
}

Json Codec<Section>::write(const Section& section) {
  return section.node.kind == Node::Kind::map ? Json(to_json(section.node)) : Json::object();
}

bool Codec<Named>::read(Named& out, const Node& node, const Path& path, Problems& problems,
                        std::string_view key) {
  Node rest = node;
  if (node.kind == Node::Kind::scalar) {
    out.name = node.text;
    rest = Node{.kind = Node::Kind::map, .mark = node.mark};
    return Codec<Section>::read(out.options, rest, path, problems);
  }
  const Node* name = node.find(key);
  if (!name) {
    problems.error(node.mark, path.child(key), "missing",
                   fmt::format("add `{}: ...`, as the plugin registers it", key));
    return false;
  }
  if (!Codec<std::string>::read(out.name, *name, Path{&path, key}, problems)) return false;
  std::erase_if(rest.entries, [&](const Entry& entry) { return entry.key == key; });
  return Codec<Section>::read(out.options, rest, path, problems);
}

Json Codec<Named>::write(const Named& named, std::string_view key) {
  Json map = Json::object();
  map[std::string(key)] = named.name;
  map.update(Codec<Section>::write(named.options));
  return map;
}

void Codec<Named>::tables(Reference& reference, const std::string& path, const Named&, std::string_view key) {
  const std::string title = fmt::format("{} with another {}", path, key);
  reference.note(title, "Registered by a plugin (`plugins`); the other keys are the plugin's own.");
  reference.add({title,
                 {{fmt::format("{}.{}", path, key), "text", "required", "",
                   "name under which the plugin registers it"}}});
}

}  // namespace d9d::config
