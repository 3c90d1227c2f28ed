#pragma once
// Maps by text, and lists that may also be one item without its brackets.

#include <map>
#include <string>
#include <vector>

#include "runtime/base/config/codec_containers.hpp"

namespace d9d::config {

template <class T>
struct Codec<std::map<std::string, T>> {
  static std::string type() { return "map of text to " + Codec<T>::type(); }
  static bool read(std::map<std::string, T>& out, const Node& node, const Path& path, Problems& problems) {
    out.clear();
    if (node.kind != Node::Kind::map)
      return wrong_type(node, path, problems, "a map", "write `key: value` lines");
    bool good = true;
    for (const Entry& entry : node.entries) {
      good &= Codec<T>::read(out[entry.key], entry.value, Path{&path, entry.key}, problems);
    }
    return good;
  }
  static Json write(const std::map<std::string, T>& values) {
    Json map = Json::object();
    for (const auto& [key, value] : values) map[key] = Codec<T>::write(value);
    return map;
  }
};

// A list, or one item without its brackets.
template <class T>
struct OneOrMany {
  std::vector<T> items;
};

template <class T>
struct Codec<OneOrMany<T>> {
  static std::string type() { return Codec<T>::type() + " or list"; }
  static bool read(OneOrMany<T>& out, const Node& node, const Path& path, Problems& problems) {
    if (node.kind == Node::Kind::list) return Codec<std::vector<T>>::read(out.items, node, path, problems);
    out.items.assign(1, T{});
    return Codec<T>::read(out.items.front(), node, path, problems);
  }
  static Json write(const OneOrMany<T>& value) { return Codec<std::vector<T>>::write(value.items); }
  static void tables(Reference& reference, const std::string& path, const OneOrMany<T>&) {
    add_tables(reference, path, T{});
  }
};

}  // namespace d9d::config
