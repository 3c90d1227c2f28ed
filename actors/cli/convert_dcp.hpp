#pragma once
// convert --from-dcp: a checkpoint of the original as one with which a job here goes on.

#include "actors/cli/arguments.hpp"

namespace d9d {

int convert_dcp(const Arguments& arguments, Console& console);

}  // namespace d9d
