#pragma once
// Other programs as children of this process.

#include <sys/types.h>

#include <string>
#include <vector>

namespace d9d {

// The texts as exec takes them: as long as they live, with a null after them.
inline std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

// Starts a program of the PATH with these descriptors as its input, output and errors. It runs in a
// session of its own, because a Ctrl-C is meant for this process, and with the signal handling that
// a shell would give it. Environment error: it cannot be started.
pid_t start_program(const std::vector<std::string>& words, int input, int output, int errors);

// Returns the Python that runs our scripts: $D9D_PYTHON, else python3.
std::string python_program();

}  // namespace d9d
