#include "runtime/base/config/codec.hpp"

#include <fmt/format.h>

#include <cmath>

#include "runtime/base/config/scalar.hpp"

namespace d9d::config {
namespace {

bool plain(const Node& node) {
  return node.kind == Node::Kind::scalar && !node.quoted;
}

// A quoted number or truth value is the commonest wrong type of files that a program wrote.
bool only_quoted(const Node& node, bool good_without) {
  return node.kind == Node::Kind::scalar && node.quoted && good_without;
}

}  // namespace

bool wrong_type(const Node& node, const Path& path, Problems& problems, std::string_view expected,
                std::string_view remedy) {
  problems.error(node.mark, path.str(), fmt::format("expected {}, got {}", expected, describe(node)),
                 std::string(remedy));
  return false;
}

std::optional<bool> read_boolean(const Node& node, const Path& path, Problems& problems) {
  if (plain(node)) {
    if (const auto value = boolean_from(node.text)) return value;
  }
  const bool quoted = only_quoted(node, boolean_from(node.text).has_value());
  wrong_type(node, path, problems, "a boolean", quoted ? "remove the quotes" : "write true or false");
  return std::nullopt;
}

std::optional<std::int64_t> read_integer(const Node& node, const Path& path, Problems& problems,
                                         std::int64_t min, std::int64_t max) {
  if (plain(node) && looks_integer(node.text)) {
    const auto value = integer_from(node.text);
    if (value && *value >= min && *value <= max) return value;
    problems.error(node.mark, path.str(), fmt::format("{} does not fit", node.text),
                   fmt::format("give an integer from {} to {}", min, max));
    return std::nullopt;
  }
  std::string remedy = "write a whole number, e.g. 8";
  if (only_quoted(node, integer_from(node.text).has_value())) remedy = "remove the quotes";
  const auto number = plain(node) ? number_from(node.text) : std::nullopt;
  if (number && std::abs(*number) < 1e15 && *number == std::trunc(*number)) {
    remedy = fmt::format("write {}", static_cast<std::int64_t>(*number));
  }
  wrong_type(node, path, problems, "an integer", remedy);
  return std::nullopt;
}

std::optional<double> read_number(const Node& node, const Path& path, Problems& problems) {
  const auto value = node.kind == Node::Kind::scalar ? number_from(node.text) : std::nullopt;
  if (plain(node) && value && std::isfinite(*value)) return value;
  std::string remedy = "write a finite number, e.g. 0.1 or 1e-4";
  if (only_quoted(node, value.has_value())) remedy = "remove the quotes";
  wrong_type(node, path, problems, "a number", remedy);
  return std::nullopt;
}

std::optional<std::string> read_text(const Node& node, const Path& path, Problems& problems) {
  if (node.kind == Node::Kind::scalar) return node.text;
  // `--set description=a: b`
  const bool set_as_map = node.kind == Node::Kind::map && node.mark.line == 0;
  wrong_type(node, path, problems, "a text",
             set_as_map ? "a text with a colon and a blank needs quotes of its own: --set 'KEY=\"a: b\"'"
                        : "write one value");
  return std::nullopt;
}

}  // namespace d9d::config
