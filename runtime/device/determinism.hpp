#pragma once
// Whether two runs of a job give the same bits. On the CPU and on delayed devices they do: sums have a fixed order.

namespace d9d {

// On GPUs from here on, before the first tensor is there and before threads are: of torch's and its libraries' ways the
// deterministic ones (an op that has none is a c10::Error with its name), cuBLAS with a workspace of its own for each
// stream, NCCL by rings and without NVLink SHARP. For good, and for the process.
void compute_deterministically();

}  // namespace d9d
