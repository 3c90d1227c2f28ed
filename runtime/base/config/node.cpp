#include "runtime/base/config/node.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "runtime/base/config/scalar.hpp"

namespace d9d::config {

std::string to_string(const Mark& mark) {
  const std::string origin = mark.origin ? *mark.origin : "config";
  return mark.line > 0 ? fmt::format("{}:{}:{}", origin, mark.line, mark.column) : origin;
}

const Node* Node::find(std::string_view key) const {
  for (const Entry& entry : entries) {
    if (entry.key == key) return &entry.value;
  }
  return nullptr;
}

Node* Node::find(std::string_view key) {
  return const_cast<Node*>(static_cast<const Node&>(*this).find(key));
}

Meaning meaning_of(const Node& node) {
  if (node.kind == Node::Kind::null) return Meaning::null;
  if (node.quoted) return Meaning::text;
  if (boolean_from(node.text)) return Meaning::boolean;
  if (looks_integer(node.text)) return Meaning::integer;
  if (number_from(node.text)) return Meaning::number;
  return Meaning::text;
}

namespace {

std::string cut(const std::string& text) {
  constexpr std::size_t chars_max = 60;
  return text.size() <= chars_max ? text : text.substr(0, chars_max) + "...";
}

nlohmann::json scalar_to_json(const Node& node) {
  switch (meaning_of(node)) {
    case Meaning::null:
      return nullptr;
    case Meaning::boolean:
      return *boolean_from(node.text);
    case Meaning::integer:
      if (const auto value = integer_from(node.text)) return *value;
      [[fallthrough]];
    case Meaning::number:
      if (const auto value = number_from(node.text)) return *value;  // none if no double is near
      break;
    case Meaning::text:
      break;
  }
  return node.text;
}

}  // namespace

std::string describe(const Node& node) {
  if (node.kind == Node::Kind::list) return fmt::format("a list of {}", node.items.size());
  if (node.kind == Node::Kind::map) return "a map";
  switch (meaning_of(node)) {
    case Meaning::null:
      return "nothing (null)";
    case Meaning::boolean:
      return fmt::format("the boolean {}", node.text);
    case Meaning::integer:
      return fmt::format("the integer {}", cut(node.text));
    case Meaning::number:
      return fmt::format("the number {}", cut(node.text));
    case Meaning::text:
      break;
  }
  return fmt::format("the text \"{}\"", cut(node.text));
}

nlohmann::json to_json(const Node& node) {
  if (node.kind == Node::Kind::list) {
    nlohmann::json list = nlohmann::json::array();
    for (const Node& item : node.items) list.push_back(to_json(item));
    return list;
  }
  if (node.kind == Node::Kind::map) {
    nlohmann::json map = nlohmann::json::object();
    for (const Entry& entry : node.entries) map[entry.key] = to_json(entry.value);
    return map;
  }
  return scalar_to_json(node);
}

const Mark& locate(const Node& root, std::string_view path) {
  const Node* node = &root;
  while (!path.empty()) {
    const std::size_t dot = path.find('.');
    const std::string_view segment = path.substr(0, dot);
    const Node* next = nullptr;
    if (node->kind == Node::Kind::map) next = node->find(segment);
    if (node->kind == Node::Kind::list) {
      const auto index = integer_from(segment);
      if (index && *index >= 0 && *index < static_cast<std::int64_t>(node->items.size())) {
        next = &node->items[static_cast<std::size_t>(*index)];
      }
    }
    if (!next) break;
    node = next;
    path = dot == std::string_view::npos ? std::string_view{} : path.substr(dot + 1);
  }
  return node->mark;
}

}  // namespace d9d::config
