#pragma once
// The commands that use tensors or plugins: a job, a model, a checkpoint.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "actors/cli/arguments.hpp"

namespace d9d {

// Returns the most bytes that the tensors of this process had at once.
using TensorBytes = std::function<std::uint64_t()>;

// `build`: the build id that this process sends to the others, see build_id(). `words`: the whole command
// line, with the program's name.
Command run_command(const std::string& build, const std::vector<std::string>& words,
                    const TensorBytes& tensor_bytes_max);
// Starts nothing and writes nothing; makes the pieces of the job as run_command() does.
Command check_command();
Command score_command();
Command generate_command();
Command export_command();
Command checkpoint_command();
Command convert_command();
Command data_command();
Command report_command();
// Both act on a job that runs in another process.
Command sleep_command();
Command wake_command();

}  // namespace d9d
