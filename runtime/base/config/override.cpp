#include "runtime/base/config/override.hpp"

#include <fmt/format.h>

#include "runtime/base/config/parse.hpp"
#include "runtime/base/config/scalar.hpp"
#include "runtime/base/error.hpp"

namespace d9d::config {
namespace {

struct Segment {
  std::string_view text;
  std::string_view before;  // the path up to here, for messages
  std::string_view origin;
};

[[noreturn]] void refuse(const Segment& at, std::string what) {
  throw Error(ErrorKind::input, std::move(what), std::string(at.origin));
}

std::string place(const Segment& at) {
  return at.before.empty() ? "the top level" : fmt::format("`{}`", at.before);
}

Node& step_into_list(Node& list, const Segment& at) {
  const auto index = integer_from(at.text);
  const auto size = static_cast<std::int64_t>(list.items.size());
  if (!index || *index < 0 || *index > size) {
    refuse(at, fmt::format("`{}` is not a place in {}, a list of {}; give 0 to {} ({} appends)", at.text,
                           place(at), size, size, size));
  }
  if (*index == size) list.items.push_back({});
  return list.items[static_cast<std::size_t>(*index)];
}

Node& step_into(Node& node, const Segment& at, const Mark& mark) {
  if (node.kind == Node::Kind::list) return step_into_list(node, at);
  if (node.kind == Node::Kind::scalar) {
    refuse(at, fmt::format("{} is {}, so it has no key `{}`", place(at), describe(node), at.text));
  }
  if (node.kind == Node::Kind::null) {
    node.kind = Node::Kind::map;
    node.mark = mark;
  }
  if (Node* found = node.find(at.text)) return *found;
  node.entries.push_back({std::string(at.text), mark, Node{.mark = mark}});
  return node.entries.back().value;
}

void set_marks(Node& node, const Mark& mark) {
  node.mark = mark;
  for (Node& item : node.items) set_marks(item, mark);
  for (Entry& entry : node.entries) {
    entry.mark = mark;
    set_marks(entry.value, mark);
  }
}

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") + 1 - begin);
}

Node plain_value(std::string_view text) {
  return {.kind = Node::Kind::scalar, .text = std::string(text)};
}

// "[fd00::1]:29500", no list.
bool is_address(std::string_view text) {
  const std::size_t end = text.find("]:");
  return text.starts_with('[') && end != std::string_view::npos && end + 2 < text.size() &&
         text.substr(1, end - 1).find_first_not_of("0123456789abcdefABCDEF:.") == std::string_view::npos &&
         text.substr(1, end - 1).find(':') != std::string_view::npos &&
         text.substr(end + 2).find_first_not_of("0123456789") == std::string_view::npos;
}

// A shell has taken one level of quotes away; what begins a comment, an anchor, a tag in a file is text here.
Node value_of(std::string_view given, const std::string& origin) {
  const std::string_view text = trimmed(given);
  const bool lines = text.find('\n') != std::string_view::npos;
  const char first = text.empty() ? ' ' : text.front();
  const bool tagged = text.starts_with("!!");  // `!!str 5`
  constexpr std::string_view indicators = "&!*@`%#|>";
  const bool is_plain = indicators.find(first) != std::string_view::npos || is_address(text);
  if (!lines && !tagged && is_plain) return plain_value(text);
  Node node = parse(std::string(given), origin);
  constexpr std::string_view openings = "\"'[{";
  const bool written_as_yaml = lines || tagged || openings.find(first) != std::string_view::npos;
  const bool cut = node.kind == Node::Kind::scalar && node.text != text;
  return cut && !written_as_yaml ? plain_value(text) : node;
}

}  // namespace

void apply_override(Node& root, std::string_view assignment) {
  const std::string origin = fmt::format("--set {}", assignment);
  const std::size_t equals = assignment.find('=');
  if (equals == std::string_view::npos || equals == 0) {
    throw Error(ErrorKind::input, "no key or no `=`; write --set key.path=value", origin);
  }
  const std::string_view path = assignment.substr(0, equals);
  require_utf8(std::string(assignment), origin);
  Node value = value_of(assignment.substr(equals + 1), origin);
  const Mark mark{std::make_shared<const std::string>(origin), 0, 0};
  set_marks(value, mark);

  Node* node = &root;
  std::size_t begin = 0;
  while (begin <= path.size()) {
    const std::size_t end = std::min(path.find('.', begin), path.size());
    const Segment at{path.substr(begin, end - begin), path.substr(0, begin == 0 ? 0 : begin - 1), origin};
    if (at.text.empty()) refuse(at, fmt::format("an empty key after {}; write key.path=value", place(at)));
    node = &step_into(*node, at, mark);
    begin = end + 1;
  }
  *node = std::move(value);
}

}  // namespace d9d::config
