#pragma once
// Codec<T> reads a type from a node, writes it back and names it. Scalars are here, other types in
// codec_*.hpp. read() reports mistakes and returns false; do not use `out` then. It leaves `out`
// unchanged if a key is absent.

#include <concepts>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/base/config/node.hpp"
#include "runtime/base/config/problems.hpp"
#include "runtime/base/config/reference.hpp"

namespace d9d::config {

using Json = nlohmann::ordered_json;

template <class T>
struct Codec;

// One line `expected ..., got ...`; returns false.
bool wrong_type(const Node& node, const Path& path, Problems& problems, std::string_view expected,
                std::string_view remedy);
std::optional<bool> read_boolean(const Node& node, const Path& path, Problems& problems);
std::optional<std::int64_t> read_integer(const Node& node, const Path& path, Problems& problems,
                                         std::int64_t min, std::int64_t max);
std::optional<double> read_number(const Node& node, const Path& path, Problems& problems);
std::optional<std::string> read_text(const Node& node, const Path& path, Problems& problems);

template <class T, class U>
bool assign(T& out, const std::optional<U>& value) {
  if (value) out = static_cast<T>(*value);
  return value.has_value();
}

template <class T>
concept Integer = std::integral<T> && !std::same_as<T, bool>;

template <>
struct Codec<bool> {
  static std::string type() { return "bool"; }
  static bool read(bool& out, const Node& node, const Path& path, Problems& problems) {
    return assign(out, read_boolean(node, path, problems));
  }
  static Json write(bool value) { return value; }
};

template <Integer T>
struct Codec<T> {
  static std::string type() { return "int"; }
  static bool read(T& out, const Node& node, const Path& path, Problems& problems) {
    constexpr auto ceiling = std::numeric_limits<std::int64_t>::max();
    constexpr auto max = std::cmp_less(std::numeric_limits<T>::max(), ceiling)
                             ? static_cast<std::int64_t>(std::numeric_limits<T>::max())
                             : ceiling;
    constexpr auto min = static_cast<std::int64_t>(std::numeric_limits<T>::min());
    return assign(out, read_integer(node, path, problems, min, max));
  }
  static Json write(T value) { return value; }
};

template <std::floating_point T>
struct Codec<T> {
  static std::string type() { return "float"; }
  static bool read(T& out, const Node& node, const Path& path, Problems& problems) {
    return assign(out, read_number(node, path, problems));
  }
  static Json write(T value) { return value; }
};

template <>
struct Codec<std::string> {
  static std::string type() { return "text"; }
  static bool read(std::string& out, const Node& node, const Path& path, Problems& problems) {
    return assign(out, read_text(node, path, problems));
  }
  static Json write(const std::string& value) { return value; }
};

// Free data: any YAML, kept as it is.
template <>
struct Codec<nlohmann::json> {
  static std::string type() { return "any"; }
  static bool read(nlohmann::json& out, const Node& node, const Path&, Problems&) {
    out = to_json(node);
    return true;
  }
  static Json write(const nlohmann::json& value) { return value; }
};

}  // namespace d9d::config
