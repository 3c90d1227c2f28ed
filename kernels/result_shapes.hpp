#pragma once
// The shapes and dtypes of what ops give, for devices that have to know them before an op has run.

#include "kernels/ops/table.hpp"

namespace d9d::kernels {

// A table whose ops make their results, uninitialised and on the device of their inputs, and do nothing else. Numbers
// of rows that depend on values are those of the most: each choice of an expert counts, each label is valid.
// uniform_value is not in it.
const OpTable& result_shapes();

}  // namespace d9d::kernels
