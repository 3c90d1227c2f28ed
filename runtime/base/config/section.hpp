#pragma once
// A part of the config whose keys belong to somebody else: a plugin's task,
// model or actor. It keeps its marks, so that the owner decodes it into a
// described struct of his own with the same errors (`decode<T>(section)`).

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

// `name: x` and, beside it, the keys that the owner of x declares.
struct Named {
  std::string name;
  Section options;  // without the name
};
inline constexpr std::string_view name_key = "name";

template <>
struct Codec<Named> {
  static std::string type() { return "section with a name"; }
  // `key`: what stands for `name` in sections that call it otherwise.
  static bool read(Named& out, const Node& node, const Path& path, Problems& problems,
                   std::string_view key = name_key);
  static Json write(const Named& named, std::string_view key = name_key);
  static void tables(Reference& reference, const std::string& path, const Named&,
                     std::string_view key = name_key);
};

}  // namespace d9d::config
