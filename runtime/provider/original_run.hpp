#pragma once
// A training run of the original (d9d of Python, 0.1 to 0.24) as its checkpoint holds it: steps, tensors of the model,
// and what the optimizer keeps for each parameter. The original numbers the optimizer's state by the order of the
// parameters in a pipeline stage; here it gets their names. Blocks on the disk.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "runtime/state/dcp/dcp_folder.hpp"

namespace d9d {

struct OriginalRun {
  using Tensors = std::map<std::string, const DcpValue*>;  // by name, of all stages

  std::uint64_t step = 0;     // steps done
  std::uint64_t updates = 0;  // that the optimizer made in them; 0: no optimizer was asked for
  Tensors parameters;
  Tensors buffers;
  std::map<std::string, Tensors> moments;  // by kind: exp_avg, exp_avg_sq, momentum_buffer, ...
  std::vector<std::string> updated_less;   // parameters that were left out of some updates
};

enum class Moments { read, left_out };

// `buffers`: patterns of those tensors of the model that are no parameters, since the checkpoint does not tell them
// apart. Input error with the key at fault and a remedy: it is no checkpoint of the original, or the optimizer's
// numbers cannot be given names.
OriginalRun read_original_run(const DcpFolder& folder, const std::vector<std::string>& buffers,
                              Moments moments);

}  // namespace d9d
