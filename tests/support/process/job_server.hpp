#pragma once
// Command lines of d9d-node for tests that only want to know how they end: forks of a process that has loaded the
// libraries already, instead of new processes that load them (0.4 s of a core each).
//
// What differs from d9d-node: argv[0] and /proc/self/exe, and what libraries read of the environment when they are
// loaded. Tests of these start a Process; so do all under sanitizers, and at night (D9D_NIGHT).

#include <optional>

#include "tests/support/process/process.hpp"

namespace d9d::test {

// The exit code of `d9d-node WORDS...` (words[0] is the program), or 128 + the signal; its output lies where that of a
// Process would. Nothing where each command line shall be a new process. Throws after `patience`, with the stderr.
std::optional<int> call_by_server(const ProcessOptions& options);

}  // namespace d9d::test
