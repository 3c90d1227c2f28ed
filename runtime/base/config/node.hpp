#pragma once
// A config file as a tree of plain values, each with the place where it was written. Copies are independent,
// so a tree may be read from any thread; yaml-cpp's own nodes share state and forget marks of keys.

#include <nlohmann/json_fwd.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace d9d::config {

// Lines and columns count from 1; line 0 means that the
// origin (a `--set`, an environment variable) has no lines.
struct Mark {
  std::shared_ptr<const std::string> origin;
  int line = 0;
  int column = 0;
};

// "job.yaml:3:5", or only the origin where there are no lines.
std::string to_string(const Mark& mark);

struct Entry;

struct Node {
  enum class Kind { null, scalar, list, map };

  Kind kind = Kind::null;
  std::string text;            // a scalar's text, or how a null was written
  bool quoted = false;         // a quoted scalar is always text
  std::vector<Node> items;     // of a list
  std::vector<Entry> entries;  // of a map, in the order of the file
  Mark mark;

  const Node* find(std::string_view key) const;
  Node* find(std::string_view key);
};

struct Entry {
  std::string key;
  Mark mark;
  Node value;
};

// What a plain scalar means, after the core schema of YAML 1.2 (section 10.3.2).
enum class Meaning { null, boolean, integer, number, text };
Meaning meaning_of(const Node& scalar);

// For messages: `the text "eight"`, `the number 1.5`, `a map`, `a list of 3`, `nothing`.
std::string describe(const Node& node);

// Converts a value without its marks. Integers that fit 64 bits stay integers.
nlohmann::json to_json(const Node& node);

// Returns the place of the deepest existing node on `path` ("trainer.run.name", "data.files.0"),
// for an error's text.
const Mark& locate(const Node& root, std::string_view path);

}  // namespace d9d::config
