#pragma once
// Writes a run as one page of HTML that needs nothing else: no network, no other file, and no
// script to be readable. It is valid XML too.

#include <string>
#include <vector>

#include "runtime/report/run_folder.hpp"

namespace d9d::report {

// Addresses of a live page that accept a POST.
inline constexpr const char* trace_action = "/trace";
inline constexpr const char* sleep_action = "/sleep";
inline constexpr const char* wake_action = "/wake";

struct PageOptions {
  std::vector<int> steps = {};   // steps whose pipeline is drawn; none: pipeline_section() chooses
  double now = 0;                // seconds since 1970
  std::string build = {};        // of the program that makes the page
  int refresh_seconds = 0;       // seconds until a browser loads it again; 0: never
  std::string log = {};          // the address of node 0's log; empty: no link
  bool asks_for_traces = false;  // has a button that sends a POST to trace_action
  bool asks_for_sleep = false;   // has buttons for sleep_action and wake_action
  bool is_asleep = false;        // the job runs and has released its memory
};

// Input error: one of the steps cannot be drawn.
std::string report_page(const RunFolder& run, const PageOptions& options);

}  // namespace d9d::report
