#pragma once
// The source files as text. Only the standard library: this has to compile in a second.

#include <set>
#include <string>
#include <vector>

namespace d9d::tidy {

using Names = std::set<std::string>;

struct Source {
  std::string path;  // from the repository's root
  std::vector<std::string> lines;

  bool is_header() const;
  bool is_cpp() const;
  // Its room, see libraries.hpp: "actors/core", "runtime/pipeline", "kernels/cuda", "messages", "tests", ...
  std::string folder() const;
};

// Code and schemas of all folders, sorted by path; read once.
const std::vector<Source>& sources();
// Null when there is none.
const Source* find_source(const std::string& path);
// "a/b" and everything below.
std::vector<const Source*> sources_under(const std::vector<std::string>& folders);

// The quoted path of an #include line, with its quotes or angles; empty when it is none.
std::string included(const std::string& line);
// Without the comment after two slashes.
std::string code_of(const std::string& line);

}  // namespace d9d::tidy
