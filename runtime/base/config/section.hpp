#pragma once
// A part of the config whose keys a plugin's task, model or actor defines. It
// keeps its marks, so that the plugin can decode it into a described struct with
// the same errors (`decode<T>(section)`).

#include <concepts>
#include <string>
#include <string_view>

#include "runtime/base/config/codec.hpp"

namespace d9d::config {

struct Section {
  Node node;         // a map, or null where nothing was given
  std::string path;  // where it stands in the file
};

template <>
struct Codec<Section> {
  static std::string type() { return "section of its owner"; }
  static bool read(Section& out, const Node& node, const Path& path, Problems& problems);
  static Json write(const Section& section);
};

// `name: x` and, in the same map, the keys that the owner of x declares.
struct Named {
  std::string name;
  Section options;  // without the name
};
inline constexpr std::string_view name_key = "name";

template <>
struct Codec<Named> {
  static std::string type() { return "section with a name"; }
  // `key` is the key that has the name, in sections that call it otherwise.
  static bool read(Named& out, const Node& node, const Path& path, Problems& problems,
                   std::string_view key = name_key);
  static Json write(const Named& named, std::string_view key = name_key);
  static void tables(Reference& reference, const std::string& path, const Named&,
                     std::string_view key = name_key);
};

// A Named of its own type, which says as `name_under` the key that has the name, and as `called` what the reference
// calls the section.
template <class Own>
requires std::derived_from<Own, Named> && requires {
  Own::name_under;
}
struct Codec<Own> {
  static std::string type() { return Own::called; }
  static bool read(Own& out, const Node& node, const Path& path, Problems& problems) {
    return Codec<Named>::read(out, node, path, problems, Own::name_under);
  }
  static Json write(const Own& own) { return Codec<Named>::write(own, Own::name_under); }
  static void tables(Reference& reference, const std::string& path, const Own& own) {
    Codec<Named>::tables(reference, path, own, Own::name_under);
  }
};

}  // namespace d9d::config
