#pragma once
// A run's page and numbers, served while it runs: / is the report's page, /metrics what Prometheus reads, /trace (POST)
// asks for a trace, /sleep and /wake (POST) for what the signals do. Who may ask for which: request_rules.hpp.

#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "runtime/base/clock.hpp"
#include "runtime/base/host/host_port.hpp"
#include "runtime/metric/sink/tracker.hpp"

struct ssl_ctx_st;

namespace d9d::live {

struct LivePageOptions {
  HostPort address;  // port 0: the system chooses
  std::filesystem::path run_dir;
  std::string run;            // its name
  const Clock& clock;         // outlives the page
  std::string token = {};     // of the job: who has it may ask for actions from other hosts
  ssl_ctx_st* tls = nullptr;  // both sides need a certificate of the job; null: in clear
  // The job has handed its memory back: it sleeps. Called from the server's threads.
  std::function<bool()> is_asleep = [] { return false; };
  // Writes a trace of the last steps: what POST /trace does, and a button of the page. Called from the server's threads.
  std::function<void()> write_trace = {};
  // The job hands its memory back after the step in work, and takes it again: POST /sleep and /wake, and buttons.
  std::function<void()> sleep = {}, wake = {};
};

// A run of a tracker that answers from its own threads until it is closed; the log names its address, and warns of one
// beyond this host that nothing protects. Environment error when the address cannot be used.
std::unique_ptr<TrackerRun> open_live_page(const LivePageOptions& options);

}  // namespace d9d::live
