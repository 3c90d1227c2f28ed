#include "runtime/base/error.hpp"

#include <algorithm>
#include <new>
#include <system_error>
#include <utility>

#include "runtime/base/host_limits.hpp"

namespace d9d {

std::string_view name_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::input:
      return "input";
    case ErrorKind::bug:
      return "bug";
    case ErrorKind::environment:
      return "environment";
  }
  return "unknown";
}

Error::Error(ErrorKind kind, std::string what, std::string where)
    : std::runtime_error(where.empty() ? std::move(what) : where + ": " + what),
      kind_(kind),
      where_(std::move(where)) {}

void fail(ErrorKind kind, std::string what, const char* file, int line) {
  throw Error(kind, std::move(what), fmt::format("{}:{}", file, line));
}

namespace {

// LibTorch's exceptions carry a stack of its functions, of no use to a user who gave the wrong shape.
std::string without_stack(std::string text) {
  for (const char* mark : {"\nException raised from ", "\nC++ CapturedTraceback"}) {
    text.resize(std::min(text.find(mark), text.size()));
  }
  return text;
}

}  // namespace

Caught describe_current_exception() {
  try {
    throw;
  } catch (const Error& error) {
    return {error.kind(), error.what()};
  } catch (const std::bad_alloc&) {
    return {ErrorKind::environment, out_of_memory_report("out of memory")};
  } catch (const std::system_error& error) {
    return {ErrorKind::environment, error.what()};
  } catch (const std::exception& error) {
    if (std::string report = out_of_memory_report(error.what()); !report.empty())
      return {ErrorKind::environment, std::move(report)};
    return {ErrorKind::bug, without_stack(error.what())};
  } catch (...) {
    return {ErrorKind::bug, "an exception of unknown type"};
  }
}

}  // namespace d9d
