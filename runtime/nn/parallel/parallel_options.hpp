#pragma once
// What a job may choose about its parallel strategies beside the degrees (section `parallelism`). Pure
// values.

namespace d9d {

struct ParallelOptions {};

}  // namespace d9d
