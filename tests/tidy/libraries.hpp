#pragma once
// The arrows, read from the d9d_library() calls of the
// CMakeLists.txt files: the one place where they are written down.

#include <map>
#include <set>
#include <string>
#include <vector>

namespace d9d::tidy {

// A folder that has a library, "runtime/comm" for example. Its
// sub-folders belong to it unless they have a library themselves.
struct Room {
  std::set<std::string> may_include;  // other rooms, from DEPS
  std::vector<std::string> order;  // from ORDER: sub-folders, files without ending, "." for the other files
};

// By folder. Examples link libd9d.so and may therefore include every room.
const std::map<std::string, Room>& rooms();
// The room of a file, given by its path from the root; its first folder where no library claims it.
std::string room_of(const std::string& path);
// Where a file stands in the order of its room. Throws std::runtime_error when ORDER does not name its place.
std::size_t place_in_order(const Room& room, const std::string& folder, const std::string& path);

}  // namespace d9d::tidy
