#include "runtime/base/host/signal_name.hpp"

#include <cstring>

namespace d9d {

std::string signal_name(int signal) {
  const char* const name = sigabbrev_np(signal);
  return name == nullptr ? "signal " + std::to_string(signal) : std::string("SIG") + name;
}

}  // namespace d9d
