#pragma once
// What is wrong with a job file whose keys can be read one by one.

#include <string>

namespace d9d {

// Of a decoded job: the key at fault, what is wrong, what to try.
struct JobIssue {
  std::string path;
  std::string what;
  std::string remedy;
};

}  // namespace d9d
