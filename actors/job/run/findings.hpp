#pragma once
// Collects what is wrong from steps of which each may fail.

#include <functional>
#include <set>
#include <string>

#include "runtime/base/error.hpp"

namespace d9d {

class Findings {
 public:
  // Runs the step. Returns false if it threw. `part` is put before the text of an error that names no
  // place. An exception that is no Error comes from users' code, so it does not count as a bug.
  // std::bad_alloc is no finding and is thrown on. What several steps run into is said once, of the first.
  bool attempt(const std::string& part, const std::function<void()>& step);

  // Throws one error with a line for each finding. Its kind is the most serious one: bug, input, environment.
  void throw_if_any() const;

 private:
  void add(ErrorKind kind, const std::string& part, const std::string& what);

  ErrorKind kind_ = ErrorKind::environment;
  std::set<std::string> said_;  // without their parts
  std::string text_;
};

}  // namespace d9d
