#pragma once
// Where the ops of a table compute, for code above them whose fast way, or whose memory, depends on it. No torch.

namespace d9d::kernels {

// `other`: torch's ops in order on a device of its own (delayed), whose memory counts results but no work of the CPU.
enum class Place { cpu, gpu, other };

}  // namespace d9d::kernels
