#pragma once
// One error type of three kinds; the kind says who has to act. A text says what was given, what was
// expected and what to try next. Inside an actor these are ordinary exceptions; between actors they
// travel as the message `Failed`.

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <string_view>

namespace d9d {

enum class ErrorKind {
  input,        // the user can fix it: config, files, command line
  bug,          // we must fix it: an invariant of ours does not hold
  environment,  // retry or replace: disk, network, device
};

std::string_view name_of(ErrorKind kind);

class Error : public std::runtime_error {
 public:
  // `where` is the place the user should look at: a file and line, a key path, an actor; may be empty.
  Error(ErrorKind kind, std::string what, std::string where = {});

  ErrorKind kind() const { return kind_; }
  const std::string& where() const { return where_; }

 private:
  ErrorKind kind_;
  std::string where_;
};

[[noreturn]] void fail(ErrorKind kind, std::string what, const char* file, int line);

// The kind and text of any exception: Error keeps its kind, everything else is a bug.
struct Caught {
  ErrorKind kind;
  std::string what;
};
Caught describe_current_exception();

}  // namespace d9d

// Throws an input error: the caller or the user gave something impossible.
#define D9D_REQUIRE(condition, ...)                                                          \
  do {                                                                                       \
    if (!(condition)) throw ::d9d::Error(::d9d::ErrorKind::input, fmt::format(__VA_ARGS__)); \
  } while (false)

// Checks an invariant of d9d. A failure is a bug of d9d and carries file and line.
#define D9D_CHECK(condition, ...)                                                                       \
  do {                                                                                                  \
    if (!(condition)) ::d9d::fail(::d9d::ErrorKind::bug, fmt::format(__VA_ARGS__), __FILE__, __LINE__); \
  } while (false)
