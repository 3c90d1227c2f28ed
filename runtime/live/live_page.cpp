#include "runtime/live/live_page.hpp"

#include <sys/resource.h>

#include <chrono>
#include <mutex>
#include <optional>
#include <utility>

#include "runtime/base/log.hpp"
#include "runtime/base/version.hpp"
#include "runtime/live/http_server.hpp"
#include "runtime/live/prometheus.hpp"
#include "runtime/report/page.hpp"
#include "runtime/state/disk.hpp"

namespace d9d::live {
namespace {

constexpr const char* key = "node.status";
constexpr int refresh_seconds = 10;
constexpr double page_seconds = 2;  // as long a page is good for all who ask
constexpr int lowest_priority = 19;
constexpr std::chrono::nanoseconds trace_pause = std::chrono::seconds(5);
constexpr const char* plain_text = "text/plain; charset=utf-8";

class LivePage final : public TrackerRun {
 public:
  explicit LivePage(const LivePageOptions& options) : options_(options) {
    HttpServer::Routes actions;
    if (options_.write_trace) actions[report::trace_action] = [this] { return write_trace(); };
    add(actions, report::sleep_action, options_.sleep,
        "The job falls asleep after the step in work; its log says when.\n");
    add(actions, report::wake_action, options_.wake, "The job wakes where it sleeps; its log says when.\n");
    server_.emplace(
        options.address, key,
        HttpServer::Routes{{"/", [this] { return page(); }}, {"/metrics", [this] { return metrics(); }}},
        std::move(actions));
    log::info("the run's page is at http://{}/", host_port_text(options.address.host, server_->port()));
  }

  void write(const Point& point, const TrackerValue& value) override {
    const auto* scalar = std::get_if<Scalar>(&value);
    if (scalar) values_.put(flat_name(point), {scalar->value, point.step});
  }
  void end_step(std::int64_t /*step*/) override {}
  void hparams(const nlohmann::json& /*hparams*/) override {}
  void flush() override {}
  void close() override { server_.reset(); }

 private:
  static void add(HttpServer::Routes& actions, const char* path, const std::function<void()>& act,
                  const char* said) {
    if (!act) return;
    actions[path] = [act, said] {
      act();
      return HttpAnswer{.status = 202, .type = plain_text, .body = said};
    };
  }
  HttpAnswer metrics() const {
    return {.type = prometheus_type, .body = prometheus_text(options_.run, values_.all())};
  }

  // Not more often than somebody could read them: each is a file.
  HttpAnswer write_trace() {
    const std::lock_guard lock(asking_);
    const std::int64_t now = options_.clock.now_ns();
    if (asked_ns_ && now - *asked_ns_ < trace_pause.count()) {
      return {.status = 429, .type = plain_text, .body = "A trace was asked for just now; try again soon.\n"};
    }
    asked_ns_ = now;
    options_.write_trace();
    return {.status = 202, .type = plain_text, .body = "A trace of the last steps is written now.\n"};
  }

  HttpAnswer page() {
    // Of this thread alone: training goes first.
    setpriority(PRIO_PROCESS, 0, lowest_priority);
    const std::lock_guard lock(making_);
    const double now = 1e-9 * static_cast<double>(options_.clock.wall_ns());
    if (page_.empty() || now - made_at_ >= page_seconds) {
      page_ = report::report_page(report::look_at_run(PosixDisk(), options_.run_dir),
                                  {.now = now,
                                   .build = build_id(),
                                   .refresh_seconds = refresh_seconds,
                                   .asks_for_traces = options_.write_trace != nullptr,
                                   .asks_for_sleep = options_.sleep != nullptr});
      made_at_ = now;
    }
    return {.type = "text/html; charset=utf-8", .body = page_};
  }

  const LivePageOptions options_;
  LiveValues values_;
  std::mutex making_;
  std::mutex asking_;
  std::optional<std::int64_t> asked_ns_;
  std::string page_;
  double made_at_ = 0;
  std::optional<HttpServer> server_;  // the last: its threads use what stands above
};

}  // namespace

std::unique_ptr<TrackerRun> open_live_page(const LivePageOptions& options) {
  return std::make_unique<LivePage>(options);
}

}  // namespace d9d::live
