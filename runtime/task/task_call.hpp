#pragma once
// Calls into a user's task. A task may throw anything; what it throws ends the job and is not reported as a bug of d9d.

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "runtime/base/error.hpp"

namespace d9d {

// What `call` returns. An exception becomes an Error "the task's <what> threw: ...": an input error stays one,
// everything else is an environment error.
template <class Call>
auto call_task(std::string_view what, Call&& call) {
  try {
    return std::forward<Call>(call)();
  } catch (...) {
    const Caught caught = describe_current_exception();
    throw Error(caught.kind == ErrorKind::bug ? ErrorKind::environment : caught.kind,
                fmt::format("the task's {} threw: {}", what, caught.what));
  }
}

}  // namespace d9d
