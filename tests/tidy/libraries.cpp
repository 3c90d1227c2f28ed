#include "tests/tidy/libraries.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace d9d::tidy {
namespace {

namespace fs = std::filesystem;

struct Library {
  std::string name;                                      // "comm"
  std::map<std::string, std::vector<std::string>> args;  // SOURCES, DEPS, ORDER
};

std::string without_comments(const fs::path& path) {
  std::string text;
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) text += line.substr(0, line.find('#')) + "\n";
  return text;
}

Library parse(const std::string& arguments) {
  Library library;
  std::string keyword;
  std::istringstream words(arguments);
  words >> library.name;
  for (std::string word; words >> word;) {
    const bool is_keyword =
        std::all_of(word.begin(), word.end(), [](char c) { return c >= 'A' && c <= 'Z'; });
    if (is_keyword) {
      keyword = word;
    } else {
      library.args[keyword].push_back(word);
    }
  }
  return library;
}

std::vector<Library> libraries_in(const fs::path& file) {
  constexpr const char* call = "d9d_library(";
  const std::string text = without_comments(file);
  std::vector<Library> found;
  for (std::size_t at = text.find(call); at != std::string::npos; at = text.find(call, at + 1)) {
    const std::size_t begin = at + std::string(call).size();
    found.push_back(parse(text.substr(begin, text.find(')', begin) - begin)));
  }
  return found;
}

// "core" when every source is in it, else "".
std::string common_sub_folder(const std::vector<std::string>& sources) {
  std::set<std::string> folders;
  for (const std::string& source : sources) {
    const std::size_t slash = source.find('/');
    folders.insert(slash == std::string::npos ? "" : source.substr(0, slash));
  }
  return folders.size() == 1 ? *folders.begin() : "";
}

struct Found {
  std::map<std::string, Room> rooms;
  std::map<std::string, std::string> room_of_target;  // "d9d_comm" -> "runtime/comm"
  std::map<std::string, std::vector<std::string>> deps;
};

void add(Found& found, const std::string& folder, const Library& library) {
  const auto values = [&](const char* keyword) {
    const auto at = library.args.find(keyword);
    return at == library.args.end() ? std::vector<std::string>{} : at->second;
  };
  const std::string below = common_sub_folder(values("SOURCES"));
  const std::string room = below.empty() ? folder : folder + "/" + below;
  found.room_of_target["d9d_" + library.name] = room;
  for (const std::string& dep : values("DEPS")) found.deps[room].push_back(dep);
  Room& target = found.rooms[room];
  for (const std::string& place : values("ORDER")) target.order.push_back(place);
}

std::map<std::string, Room> read_rooms() {
  const fs::path root = D9D_SOURCE_DIR;
  Found found;
  for (const char* top : {"actors", "kernels", "messages", "runtime"}) {
    for (fs::recursive_directory_iterator at(root / top), end; at != end; ++at) {
      if (at->path().filename() != "CMakeLists.txt") continue;
      const std::string folder = fs::relative(at->path().parent_path(), root).generic_string();
      for (const Library& library : libraries_in(at->path())) add(found, folder, library);
    }
  }
  std::set<std::string> all;
  for (auto& [name, room] : found.rooms) {
    all.insert(name);
    for (const std::string& dep : found.deps[name]) {
      const auto target = found.room_of_target.find(dep);
      if (target != found.room_of_target.end() && target->second != name)
        room.may_include.insert(target->second);
    }
  }
  found.rooms["examples"].may_include = all;
  return found.rooms;
}

}  // namespace

const std::map<std::string, Room>& rooms() {
  static const std::map<std::string, Room> all = read_rooms();
  return all;
}

std::string room_of(const std::string& path) {
  for (std::size_t end = path.rfind('/'); end != std::string::npos && end > 0;
       end = path.rfind('/', end - 1)) {
    if (rooms().contains(path.substr(0, end))) return path.substr(0, end);
  }
  return path.substr(0, path.find('/'));
}

std::size_t place_in_order(const Room& room, const std::string& folder, const std::string& path) {
  const std::string inside = path.substr(folder.size() + 1);
  const std::string stem = inside.substr(0, inside.find('.'));
  const bool is_below = inside.find('/') != std::string::npos;
  for (const std::string& candidate :
       {stem, is_below ? inside.substr(0, inside.find('/')) : std::string(".")}) {
    const auto at = std::find(room.order.begin(), room.order.end(), candidate);
    if (at != room.order.end()) return static_cast<std::size_t>(at - room.order.begin());
  }
  if (room.order.empty() && !is_below) return 0;
  throw std::runtime_error(path + ": its room's CMakeLists.txt does not name its place in ORDER");
}

}  // namespace d9d::tidy
