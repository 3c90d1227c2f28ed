#pragma once
// Shows where the time of the traced steps went: ranks, the mailboxes in which messages
// waited, the busiest actors.

#include <string>

#include "runtime/report/traced_run.hpp"

namespace d9d::report {

std::string time_section(const TracedRun& traced);

}  // namespace d9d::report
