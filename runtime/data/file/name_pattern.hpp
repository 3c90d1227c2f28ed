#pragma once
// The names that a pattern stands for: the only place that expands patterns of `data.files`.

#include <string>
#include <vector>

namespace d9d {

// A name that is there stands for itself, whatever characters it has. Else: ~ and ~user at its begin are home folders;
// {a,b} and {00..15} are each of their items, in this order; * ? and [...] match within a name, and ** as a whole name
// any number of folders, through links too. Neither matches a name that begins with a dot unless the pattern's does.
// The matches of each item are sorted. A name without any of these is given back as it is.
// Input errors: a pattern, or an item of a brace, that matches nothing; ** beside other characters; an unreadable folder.
std::vector<std::string> matches_of(const std::string& name);

// The part of a pattern before the first name with such characters, "" or with its last slash.
std::string fixed_part_of(const std::string& pattern);

}  // namespace d9d
