#pragma once
// An error of the network: the text says what does not answer, and the caller adds the address.

#include <string>

#include "runtime/base/error.hpp"

namespace d9d::net {

[[noreturn]] inline void fail_environment(const std::string& text) {
  throw Error(ErrorKind::environment, text);
}

}  // namespace d9d::net
