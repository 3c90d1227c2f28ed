#include "runtime/base/error.hpp"

#include <algorithm>
#include <new>
#include <system_error>
#include <utility>

#include "runtime/base/host_limits.hpp"
#include "runtime/base/shortened.hpp"

namespace d9d {

std::string_view name_of(ErrorKind kind) {
  constexpr std::string_view names[] = {"input", "bug", "environment"};
  return names[static_cast<int>(kind)];
}

Error::Error(ErrorKind kind, std::string what, std::string where)
    : std::runtime_error(where.empty() ? std::move(what) : where + ": " + what),
      kind_(kind),
      where_(std::move(where)) {}

namespace {

// Below the project's own folder, wherever the program was built.
std::string_view place_in_project(std::string_view file) {
  std::size_t begin = std::string_view::npos;
  for (const std::string_view room :
       {"/actors/", "/examples/", "/kernels/", "/messages/", "/runtime/", "/tests/"}) {
    const std::size_t found = file.find(room);
    if (found != std::string_view::npos) begin = std::min(begin, found + 1);
  }
  return begin == std::string_view::npos ? file : file.substr(begin);
}

}  // namespace

void fail(ErrorKind kind, std::string what, const char* file, int line) {
  throw Error(kind, std::move(what), fmt::format("{}:{}", place_in_project(file), line));
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
    return {ErrorKind::bug, shortened(without_stack(error.what()))};
  } catch (...) {
    return {ErrorKind::bug, "an exception of unknown type"};
  }
}

}  // namespace d9d
