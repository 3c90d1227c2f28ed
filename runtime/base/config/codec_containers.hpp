#pragma once
// optional (null is "none"), vector, array (so many values
// exactly), map by text, OneOrMany and enums by name.

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/config/codec.hpp"

namespace d9d::config {

// Codecs of composite types also have tables(), which adds their keys to a reference.
template <class T>
void add_tables(Reference& reference, const std::string& path, const T& value) {
  if constexpr (requires { Codec<T>::tables(reference, path, value); })
    Codec<T>::tables(reference, path, value);
}

template <class T>
struct Codec<std::optional<T>> {
  static std::string type() { return Codec<T>::type() + " or null"; }
  static bool read(std::optional<T>& out, const Node& node, const Path& path, Problems& problems) {
    if (node.kind != Node::Kind::null) return Codec<T>::read(out.emplace(), node, path, problems);
    out.reset();
    return true;
  }
  static Json write(const std::optional<T>& value) { return value ? Codec<T>::write(*value) : Json(nullptr); }
  static void tables(Reference& reference, const std::string& path, const std::optional<T>& value) {
    add_tables(reference, path, value.value_or(T{}));
  }
};

template <class Items>
bool read_items(Items& out, const Node& node, const Path& path, Problems& problems) {
  bool good = true;
  for (std::size_t i = 0; i < node.items.size(); ++i) {
    const std::string index = std::to_string(i);
    good &= Codec<typename Items::value_type>::read(out[i], node.items[i], Path{&path, index}, problems);
  }
  return good;
}

template <class T>
struct Codec<std::vector<T>> {
  static std::string type() { return "list of " + Codec<T>::type(); }
  static bool read(std::vector<T>& out, const Node& node, const Path& path, Problems& problems) {
    out.clear();
    if (node.kind != Node::Kind::list)
      return wrong_type(node, path, problems, "a list", "write [a, b] or lines of `- a`");
    out.resize(node.items.size());
    return read_items(out, node, path, problems);
  }
  static Json write(const std::vector<T>& values) {
    Json list = Json::array();
    for (const T& value : values) list.push_back(Codec<T>::write(value));
    return list;
  }
  static void tables(Reference& reference, const std::string& path, const std::vector<T>&) {
    add_tables(reference, path + ".N", T{});
  }
};

template <class T, std::size_t N>
struct Codec<std::array<T, N>> {
  static std::string type() { return "list of " + std::to_string(N) + " " + Codec<T>::type(); }
  static bool read(std::array<T, N>& out, const Node& node, const Path& path, Problems& problems) {
    if (node.kind != Node::Kind::list || node.items.size() != N) {
      return wrong_type(node, path, problems, "a " + type(), "write [a, b, ...] with exactly that many");
    }
    return read_items(out, node, path, problems);
  }
  static Json write(const std::array<T, N>& values) {
    Json list = Json::array();
    for (const T& value : values) list.push_back(Codec<T>::write(value));
    return list;
  }
};

}  // namespace d9d::config
