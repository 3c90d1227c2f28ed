#pragma once
// Expands the patterns of `data.files`; no other code does.

#include <string>
#include <vector>

namespace d9d {

// Returns the names that a pattern matches. The name of an existing file or folder stands for
// itself, whatever characters it has. Otherwise:
//   ~ and ~user at the begin    a home folder
//   {a,b} and {00..15}          each of the items, in this order
//   *, ? and [...]              characters within one name
//   ** as a whole name          any number of folders, also through links
// No wildcard matches a name that begins with a dot unless the pattern has the dot. The matches of
// each item are sorted. A name without any of these is returned as it is.
// Input errors: a pattern or an item of a brace that matches nothing; ** next to other
// characters; an unreadable folder.
std::vector<std::string> matches_of(const std::string& name);

// Returns the part of a pattern before the first name that has such characters: "" or a path
// with its last slash.
std::string fixed_part_of(const std::string& pattern);

}  // namespace d9d
