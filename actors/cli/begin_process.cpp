#include "actors/cli/begin_process.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <csignal>

#include "actors/core/crash_report.hpp"
#include "kernels/memory/tensor_memory.hpp"

namespace d9d {
namespace {

// If the parent has closed a standard descriptor, the next opened file would take its number
// and get the output.
void hold_standard_descriptors() {
  for (int descriptor = 0; descriptor <= STDERR_FILENO; ++descriptor)
    if (::fcntl(descriptor, F_GETFD) < 0) static_cast<void>(::open("/dev/null", O_RDWR));
}

}  // namespace

TensorBytes begin_process() {
  // A failed write must not end the process: the limit on file sizes is reached, or the reader of
  // the log is gone.
  std::signal(SIGXFSZ, SIG_IGN);
  std::signal(SIGPIPE, SIG_IGN);
  hold_standard_descriptors();
  report_crashes();  // of every command: a plugin crashes as it is loaded, a mapped file is cut short
  return kernels::keep_tensor_memory();
}

}  // namespace d9d
