#pragma once
// Calls into users' code: factories, tasks, plugins. It may throw anything; what it throws ends the job and is not
// reported as a bug of d9d.

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "runtime/base/error.hpp"
#include "runtime/base/shortened.hpp"

namespace d9d {

// What becomes of an Error of d9d that comes out of the call. `passes`: nothing, because its text names the place,
// for example a key of a factory's section. `is_named`: `whose` comes before its text, and what says that it is a
// bug becomes an environment error. `bug_is_named`: only what says that it is a bug is treated so.
enum class ErrorInside { passes, is_named, bug_is_named };

// What `call` returns. Every other exception becomes an environment error "<whose> threw: <text>".
template <class Call>
auto call_user(std::string_view whose, ErrorInside inside, Call&& call) {
  try {
    return std::forward<Call>(call)();
  } catch (const Error& error) {
    const bool is_bug = error.kind() == ErrorKind::bug;
    if (inside == ErrorInside::passes || (inside == ErrorInside::bug_is_named && !is_bug)) throw;
    const ErrorKind kind = is_bug ? ErrorKind::environment : error.kind();
    throw Error(kind, fmt::format("{} threw: {}", whose, shortened(error.what())));
  } catch (...) {
    throw Error(ErrorKind::environment,
                fmt::format("{} threw: {}", whose, describe_current_exception().what));
  }
}

}  // namespace d9d
