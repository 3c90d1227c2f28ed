#pragma once
// Other programs as children of this process.

#include <sys/types.h>

#include <string>
#include <vector>

namespace d9d {

// Starts a program of the PATH with these descriptors as its input, output and errors. It gets a session of its own,
// because a Ctrl-C is meant for this process, and signals as a shell hands them on. Environment error: it cannot be started.
pid_t start_program(const std::vector<std::string>& words, int input, int output, int errors);

// The Python that runs what is written in it: $D9D_PYTHON, else python3.
std::string python_program();

}  // namespace d9d
