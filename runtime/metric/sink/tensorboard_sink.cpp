#include "runtime/metric/sink/tensorboard_sink.hpp"

#include <algorithm>
#include <charconv>

#include "runtime/base/error.hpp"
#include "runtime/base/log.hpp"
#include "runtime/metric/sink/event_file.hpp"

namespace d9d {
namespace {

constexpr std::string_view prefix = "events.out.tfevents.";
constexpr std::size_t pending_max = 1U << 16;
constexpr std::size_t waiting_max = 1U << 24;  // while the disk takes nothing

// Readers take the files of a folder in the order of their
// names, so the number must be larger than any there.
std::filesystem::path next_file(const TensorboardOptions& options, std::int64_t now_seconds) {
  std::int64_t number = now_seconds;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(options.log_dir, error)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(prefix)) continue;
    std::int64_t taken = 0;
    const auto parsed = std::from_chars(name.data() + prefix.size(), name.data() + name.size(), taken);
    if (parsed.ec == std::errc()) number = std::max(number, taken + 1);
  }
  return options.log_dir /
         fmt::format("{}{:010}.{}", prefix, number, options.host.empty() ? "d9d" : options.host);
}

std::string table_cell(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '|' || c == '\\') out.push_back('\\');
    out.push_back(c == '\n' ? ' ' : c);
  }
  return out;
}

}  // namespace

TensorboardRun::TensorboardRun(const TensorboardOptions& options, const Clock& clock)
    : clock_(clock),
      file_(next_file(options, clock.wall_ns() / 1'000'000'000), AppendFile::Mode::create_new),
      retry_(file_.path()) {
  file_.append(event_file::record(event_file::file_version(now())) +
               event_file::record(event_file::session_start(now(), options.last_step + 1)));
}

TensorboardRun::~TensorboardRun() {
  try {
    close();
  } catch (const std::exception& error) {
    log::warn("{}", error.what());
  }
}

double TensorboardRun::now() const {
  return static_cast<double>(clock_.wall_ns()) / 1e9;
}

void TensorboardRun::write(const Point& point, const TrackerValue& value) {
  D9D_CHECK(file_.is_open(), "{} of step {} was written after the run was closed", point.name, point.step);
  const auto* scalar = std::get_if<Scalar>(&value);
  if (scalar != nullptr && scalar->is_time) return;  // fp32 would round it to minutes
  const std::string tag = flat_name(point);
  if (const auto* histogram = std::get_if<Histogram>(&value)) {
    add(event_file::histogram(now(), point.step, tag, *histogram));
  } else if (const auto* text = std::get_if<TextRecord>(&value)) {
    add(event_file::text(now(), point.step, tag, text->text));
  } else if (const auto* picture = std::get_if<Picture>(&value)) {
    add(event_file::picture(now(), point.step, tag, *picture));
  } else {
    add(event_file::scalar(now(), point.step, tag, scalar->value));
  }
  if (pending_.size() > pending_max) publish(false);
}

void TensorboardRun::add(const std::string& event) {
  if (pending_.size() < waiting_max) {
    pending_ += event_file::record(event);
  } else {
    ++left_out_;
  }
}

void TensorboardRun::end_step(std::int64_t /*step*/) {
  publish(false);
}

void TensorboardRun::hparams(const nlohmann::json& hparams) {
  std::string table = "| name | value |\n| --- | --- |\n";
  const auto leaves = flat_hparams(hparams);
  for (const auto& [name, leaf] : leaves) {
    table += fmt::format("| {} | {} |\n", table_cell(name), table_cell(text_of(leaf)));
  }
  add(event_file::hparams_session(now(), leaves));
  add(event_file::text(now(), 0, "hparams", table));
  flush();
}

void TensorboardRun::flush() {
  publish(true);
}

void TensorboardRun::publish(bool urgent) {
  if (pending_.empty()) return;
  if (retry_.attempt([&] { file_.append(pending_); }, urgent)) pending_.clear();
}

void TensorboardRun::close() {
  if (!file_.is_open()) return;
  flush();
  if (retry_.is_failing() || left_out_ > 0)
    log::warn("the last values of {} were never written: there was no room for them", file_.path().string());
  file_.close();
}

}  // namespace d9d
