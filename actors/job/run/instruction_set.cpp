#include "actors/job/run/instruction_set.hpp"

#include <stdexcept>

#include "kernels/cpu/isa.hpp"
#include "runtime/base/error.hpp"

namespace d9d {

std::string instruction_set() {
  try {
    return kernels::name_of(kernels::isa_of_this_machine());
  } catch (const std::invalid_argument& error) {
    throw Error(ErrorKind::input, error.what());
  }
}

}  // namespace d9d
