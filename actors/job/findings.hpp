#pragma once
// What is wrong, collected from steps that fail one by one.

#include <functional>
#include <string>

#include "runtime/base/error.hpp"

namespace d9d {

class Findings {
 public:
  // Runs the step; false when it failed. `part` leads the text of an error
  // that names no place. An exception that is no Error comes from
  // users' code and is no bug of ours. Out of memory is no finding and goes on.
  bool attempt(const std::string& part, const std::function<void()>& step);

  // One error with a line for each. It is the input's fault if any of them is.
  void throw_if_any() const;

 private:
  void add(ErrorKind kind, const std::string& text);

  bool any_ = false;
  ErrorKind kind_ = ErrorKind::environment;
  std::string text_;
};

}  // namespace d9d
