#pragma once
// How a program gets libd9d.so, which must not be linked: before it is loaded, OpenMP's variables have to be set and
// LibTorch has to be found.

#include <string>

namespace d9d {

using ProgramMain = int (*)(int, char**);

// The command line of libd9d.so; null with what is wrong and what to do in `problem`.
ProgramMain load_program(std::string& problem);

}  // namespace d9d
