#pragma once
// A run as one page of HTML that needs nothing else: no network, no other file, no script. It is XML, too.

#include <string>
#include <vector>

#include "runtime/report/run_folder.hpp"

namespace d9d::report {

inline constexpr const char* trace_action = "/trace";

struct PageOptions {
  std::vector<int> steps = {};   // whose pipeline is drawn; none: pipeline_section() chooses
  double now = 0;                // seconds since 1970
  std::string build = {};        // of the program that makes the page
  int refresh_seconds = 0;       // a browser asks for it again after these; 0: never
  bool asks_for_traces = false;  // has a button that sends a POST to trace_action
};

// Input error: one of the steps cannot be drawn.
std::string report_page(const RunFolder& run, const PageOptions& options);

}  // namespace d9d::report
