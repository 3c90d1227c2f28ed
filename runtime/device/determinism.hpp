#pragma once
// Whether two runs of a job give the same bits. On the CPU and on delayed devices they do: sums have a fixed order.

namespace d9d {

// Makes GPUs compute deterministically, for the rest of the process. Call it before the first tensor and
// before the first thread. torch and its libraries then use their deterministic algorithms; an op that has
// none throws a c10::Error with its name. cuBLAS has a workspace of its own for each stream, NCCL uses rings
// and no NVLink SHARP. Variables that the user has set (CUBLAS_WORKSPACE_CONFIG, NCCL_ALGO,
// NCCL_NVLS_ENABLE) stay as they are.
void compute_deterministically();

}  // namespace d9d
