#pragma once
// The shapes and dtypes of the ops' results, for devices that need them before an op has run.

#include "kernels/ops/table.hpp"

namespace d9d::kernels {

// Returns a table whose ops only allocate their results, uninitialised, on the device of their inputs. If
// the host does not know the values on which a number of rows depends, it is the largest possible one:
// each choice of an expert counts, each label is valid. uniform_value is not in the table.
const OpTable& result_shapes();

}  // namespace d9d::kernels
