#pragma once
// The commands that use tensors or plugins: a job, a model, a checkpoint.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "actors/cli/arguments.hpp"

namespace d9d {

// The most bytes that tensors of this process have had at once.
using TensorBytes = std::function<std::uint64_t()>;

// `build` is what the process tells the others it was built from; see build_id(). `words`: of the whole command line,
// with the program's name.
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
// Of a job of another process.
Command sleep_command();
Command wake_command();

}  // namespace d9d
