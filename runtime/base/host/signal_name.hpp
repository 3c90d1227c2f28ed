#pragma once
// Signals by their names, and the exit codes that they lead to.

#include <string>

namespace d9d {

std::string signal_name(int signal);        // "SIGTERM"
inline constexpr int exit_of_signal = 128;  // exit codes of signals begin here

}  // namespace d9d
