// d9d-node: loads everything else (load_program.hpp).
#include <cstdio>

#include "actors/load_program.hpp"
#include "runtime/base/host/leave_at_once.hpp"

int main(int argc, char** argv) {
  std::string problem;
  const d9d::ProgramMain run = d9d::load_program(problem);
  if (run == nullptr) {
    std::fprintf(stderr, "d9d-node: error: %s\n", problem.c_str());
    return 1;
  }
  if (D9D_LEAVES_AT_ONCE) d9d::leave_at_once_on_exit();
  return run(argc, argv);
}
