#include "runtime/trace/span.hpp"

namespace d9d::trace {

std::string_view name_of(Category category) {
  switch (category) {
    case Category::message:
      return "message";
    case Category::compute:
      return "compute";
    case Category::collective:
      return "collective";
    case Category::io:
      return "io";
    case Category::wait:
      return "wait";
    case Category::counter:
      return "counter";
  }
  return "unknown";
}

}  // namespace d9d::trace
