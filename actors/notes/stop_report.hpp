#pragma once
// The closing sentence of a job that a signal stopped.

#include <cstdint>
#include <string>

namespace d9d {

struct StoppedJob {
  int signal = 0;
  std::uint64_t step = 0;  // the last one that was finished; 0: all were finished
  std::string checkpoint;  // the last committed one, empty = none
  std::string unsaved;     // why the newest one was not written, empty = it was
};

std::string report_of_stop(const StoppedJob& job);

}  // namespace d9d
