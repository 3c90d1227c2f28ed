#include "runtime/live/live_page.hpp"

#include <openssl/evp.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <fstream>
#include <mutex>
#include <optional>
#include <utility>

#include "runtime/base/error.hpp"
#include "runtime/base/host/network.hpp"
#include "runtime/base/log.hpp"
#include "runtime/base/version.hpp"
#include "runtime/live/http_server.hpp"
#include "runtime/live/prometheus.hpp"
#include "runtime/report/page.hpp"
#include "runtime/report/page_script.hpp"
#include "runtime/state/disk/disk.hpp"

namespace d9d::live {
namespace {

constexpr const char* key = "node.status";
constexpr int refresh_seconds = 10;
constexpr const char* log_address = "/log";
constexpr std::streamoff log_bytes_max = 256 << 10;
constexpr double page_seconds = 2;  // as long a page is good for all who ask
constexpr int lowest_priority = 19;
constexpr std::chrono::nanoseconds trace_pause = std::chrono::seconds(5);

class LivePage final : public TrackerRun {
 public:
  explicit LivePage(const LivePageOptions& options) : options_(options) {
    HttpServer::Routes actions;
    if (options_.write_trace) actions[report::trace_action] = [this](const Caller&) { return write_trace(); };
    add(actions, report::sleep_action, options_.sleep,
        "The job falls asleep after the step in work; its log says when.");
    add(actions, report::wake_action, options_.wake, "The job wakes where it sleeps; its log says when.");
    server_.emplace(
        HttpServerOptions{.address = options.address,
                          .key = key,
                          .token = options.token,
                          .content_policy = content_policy(report::page_script()),
                          .tls = options.tls},
        HttpServer::Routes{{"/", [this](const Caller& caller) { return page(caller.may_act); }},
                           {"/metrics", [this](const Caller&) { return metrics(); }},
                           {log_address, [this](const Caller& caller) { return log_end(caller.may_act); }}},
        std::move(actions));
    tell_address();
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
                  const char* sentence) {
    if (!act) return;
    actions[path] = [act, sentence](const Caller&) {
      act();
      return said(202, sentence);
    };
  }

  void tell_address() const {
    const std::string place = host_port_text(options_.address.host, server_->port());
    log::info("the run's page is at http{}://{}/", options_.tls != nullptr ? "s" : "", place);
    if (is_loopback(options_.address.host)) return;
    if (options_.tls != nullptr) {
      log::info("node.status: every client with a certificate of node.tls.ca may read the page");
    } else {
      log::warn(
          "node.insecure: nothing protects the page at {}; whoever reaches it may read all of the job but "
          "section `node`, and send a POST with the job's token{}",
          place, options_.token.empty() ? ", which this job has not" : "");
    }
  }

  HttpAnswer metrics() const {
    return {.type = prometheus_type,
            .body = prometheus_text(options_.run, values_.all(), options_.is_asleep())};
  }

  // The last of it; for who may act, because its lines are anybody's.
  HttpAnswer log_end(bool may_read) const {
    if (!may_read)
      return said(403, "refused: the log is for programs of node 0's host, or with the job's token");
    std::ifstream in(options_.run_dir / report::node_0_log, std::ios::binary | std::ios::ate);
    if (!in) return said(404, "there is no log yet: it begins with training");
    const auto size = static_cast<std::streamoff>(in.tellg());
    std::string text(static_cast<std::size_t>(std::min(size, log_bytes_max)), '\0');
    in.seekg(size - static_cast<std::streamoff>(text.size()));
    in.read(text.data(), static_cast<std::streamsize>(text.size()));
    if (size > log_bytes_max) text.erase(0, text.find('\n') + 1);
    return {.type = plain_text, .body = text};
  }

  // Not more often than somebody could read them: each is a file.
  HttpAnswer write_trace() {
    const std::lock_guard lock(asking_);
    const std::int64_t now = options_.clock.now_ns();
    if (asked_ns_ && now - *asked_ns_ < trace_pause.count())
      return said(429, "A trace was asked for just now; try again soon.");
    asked_ns_ = now;
    options_.write_trace();
    return said(202, "A trace of the last steps is written now.");
  }

  // A page is the same for all who ask; who may not press its buttons gets it without them.
  struct MadePage {
    std::string html;
    double at = 0;
    bool is_asleep = false;
  };

  HttpAnswer page(bool with_buttons) {
    // Of this thread alone: training goes first.
    setpriority(PRIO_PROCESS, 0, lowest_priority);
    const std::lock_guard lock(making_);
    const double now = 1e-9 * static_cast<double>(options_.clock.wall_ns());
    const bool is_asleep = options_.is_asleep();
    MadePage& made = pages_[with_buttons ? 1 : 0];
    if (made.html.empty() || now - made.at >= page_seconds || made.is_asleep != is_asleep) {
      made.html = report::report_page(report::look_at_run(PosixDisk(), options_.run_dir),
                                      {.now = now,
                                       .build = build_id(),
                                       .refresh_seconds = refresh_seconds,
                                       .log = with_buttons ? log_address : "",
                                       .asks_for_traces = with_buttons && options_.write_trace != nullptr,
                                       .asks_for_sleep = with_buttons && options_.sleep != nullptr,
                                       .is_asleep = is_asleep});
      made.at = now;
      made.is_asleep = is_asleep;
    }
    return {.type = "text/html; charset=utf-8", .body = made.html};
  }

  const LivePageOptions options_;
  LiveValues values_;
  std::mutex making_;
  std::mutex asking_;
  std::optional<std::int64_t> asked_ns_;
  std::array<MadePage, 2> pages_;     // without and with buttons
  std::optional<HttpServer> server_;  // the last: its threads use what stands above
};

std::string base64_sha256(std::string_view bytes) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  const int made = EVP_Digest(bytes.data(), bytes.size(), digest.data(), &size, EVP_sha256(), nullptr);
  D9D_CHECK(made == 1, "OpenSSL makes no SHA-256 of {} bytes", bytes.size());
  std::array<unsigned char, 2 * EVP_MAX_MD_SIZE> text{};
  const int length = EVP_EncodeBlock(text.data(), digest.data(), static_cast<int>(size));
  return {text.begin(), text.begin() + length};
}

}  // namespace

std::unique_ptr<TrackerRun> open_live_page(const LivePageOptions& options) {
  return std::make_unique<LivePage>(options);
}

std::string content_policy(std::string_view script) {
  return "default-src 'none'; style-src 'unsafe-inline'; img-src data:; form-action 'self'; base-uri 'none'; "
         "frame-ancestors 'none'; script-src 'sha256-" +
         base64_sha256(script) + "'";
}

}  // namespace d9d::live
