#pragma once
// The op table of delayed devices: each op of the CPU's table, queued on the current stream.

#include "kernels/ops/table.hpp"

namespace d9d::delayed {

// Ops that need to know values (which labels count, a norm) look at what the host knows
// (kernels/memory/host_values.hpp), or wait and are counted under their name. An op whose results have other shapes
// than kernels/result_shapes.hpp says fails when it runs: on this device each choice of an expert has to be one of an
// expert.
const kernels::OpTable& op_table();

// What does the work from here on, on the host's memory, instead of the CPU's table; null: that again. For tests of
// another device's ops, whose place is then the device's, while none of its work runs. The table must outlive its use.
void use_host_table(const kernels::OpTable* table);

}  // namespace d9d::delayed
