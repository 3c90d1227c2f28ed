#pragma once
// Throws an error of the network. The text says what failed; the caller adds the address.

#include <string>

#include "runtime/base/error.hpp"

namespace d9d::net {

[[noreturn]] inline void fail_environment(const std::string& text) {
  throw Error(ErrorKind::environment, text);
}

}  // namespace d9d::net
