#include "tests/tidy/source_tree.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "tests/tidy/libraries.hpp"

namespace d9d::tidy {
namespace {

namespace fs = std::filesystem;

bool ends_with_any(const std::string& text, std::initializer_list<const char*> ends) {
  return std::any_of(ends.begin(), ends.end(), [&](const char* end) { return text.ends_with(end); });
}

Source read(const fs::path& root, const fs::path& path) {
  Source source{fs::relative(path, root).generic_string(), {}};
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) source.lines.push_back(line);
  return source;
}

std::vector<Source> read_all() {
  const fs::path root = D9D_SOURCE_DIR;
  std::vector<Source> all;
  for (const char* folder : {"actors", "examples", "kernels", "messages", "runtime", "tests"}) {
    for (fs::recursive_directory_iterator at(root / folder), end; at != end; ++at) {
      // Build folders and caches of users lie beside sources.
      const std::string name = at->path().filename().string();
      if (at->is_directory() && (name.starts_with(".") || name == "build" || name == "__pycache__"))
        at.disable_recursion_pending();
      if (at->is_regular_file() && ends_with_any(name, {".hpp", ".cpp", ".inl", ".cu", ".cuh", ".capnp"}))
        all.push_back(read(root, at->path()));
    }
  }
  std::sort(all.begin(), all.end(), [](const Source& a, const Source& b) { return a.path < b.path; });
  return all;
}

}  // namespace

bool Source::is_header() const {
  return ends_with_any(path, {".hpp", ".cuh"});
}

bool Source::is_cpp() const {
  return ends_with_any(path, {".cpp", ".cu"});
}

std::string Source::folder() const {
  return room_of(path);
}

const std::vector<Source>& sources() {
  static const std::vector<Source> all = read_all();
  return all;
}

const Source* find_source(const std::string& path) {
  const auto at =
      std::lower_bound(sources().begin(), sources().end(), path,
                       [](const Source& source, const std::string& wanted) { return source.path < wanted; });
  return at != sources().end() && at->path == path ? &*at : nullptr;
}

std::vector<const Source*> sources_under(const std::vector<std::string>& folders) {
  std::vector<const Source*> found;
  for (const Source& source : sources()) {
    const bool wanted = std::any_of(folders.begin(), folders.end(), [&](const std::string& folder) {
      return source.path.starts_with(folder + "/");
    });
    if (wanted) found.push_back(&source);
  }
  return found;
}

std::string included(const std::string& line) {
  constexpr const char* directive = "#include ";
  if (!line.starts_with(directive)) return {};
  const std::string rest = line.substr(std::string(directive).size());
  const std::size_t end = rest.find_first_of("\">", 1);
  return end == std::string::npos ? "" : rest.substr(0, end + 1);
}

std::string code_of(const std::string& line) {
  return line.substr(0, line.find("//"));
}

}  // namespace d9d::tidy
