#pragma once
// Serves a run's page and numbers while it runs: / is the report's page, /metrics is for
// Prometheus, POST /trace asks for a trace, and POST /sleep and /wake do what the signals do. Who
// may ask for which: request_rules.hpp.

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "runtime/base/clock.hpp"
#include "runtime/base/host/host_port.hpp"
#include "runtime/metric/sink/tracker.hpp"

struct ssl_ctx_st;

namespace d9d::live {

// The rules for a browser that shows our page (Content Security Policy, level 3): show it alone,
// with its own style and pictures and this one script, and send its forms back to this address.
// `script` is the exact text between the tags. No other script runs, whatever texts a run
// puts into the page.
std::string content_policy(std::string_view script);

struct LivePageOptions {
  HostPort address;  // port 0: the system chooses
  std::filesystem::path run_dir;
  std::string run;            // its name
  const Clock& clock;         // outlives the page
  std::string token = {};     // the job's: allows actions from other hosts
  ssl_ctx_st* tls = nullptr;  // both sides need a certificate of the job; null: in clear
  // Whether the job sleeps: it has released its memory. Called from the server's threads.
  std::function<bool()> is_asleep = [] { return false; };
  // Writes a trace of the last steps, for POST /trace and a button of the page. Called
  // from the server's threads.
  std::function<void()> write_trace = {};
  // Make the job release its memory after the current step, and take it again: for POST /sleep
  // and /wake, and buttons.
  std::function<void()> sleep = {}, wake = {};
};

// Opens a tracker's run that answers from its own threads until it is closed. Logs its address,
// and warns of an address that other hosts can reach without protection. Environment error: the
// address cannot be used.
std::unique_ptr<TrackerRun> open_live_page(const LivePageOptions& options);

}  // namespace d9d::live
