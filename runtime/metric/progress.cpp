#include "runtime/metric/progress.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace d9d {
namespace {

constexpr std::size_t shortest_bar = 10;
constexpr std::size_t longest_bar = 40;
constexpr std::string_view clear_line = "\r\x1b[K";

bool known(double value) {
  return std::isfinite(value) && value != 0;
}

std::string counter(const ProgressState& state) {
  if (state.counts_bytes) {
    return fmt::format("{} of {}", size_text(static_cast<std::uint64_t>(state.step)),
                       size_text(static_cast<std::uint64_t>(state.total_steps)));
  }
  if (state.total_steps <= 0) return fmt::format("step {}", state.step);
  return fmt::format("step {}/{}", state.step, state.total_steps);
}

std::vector<std::string> figures(const ProgressState& state) {
  std::vector<std::string> parts;
  if (std::isnan(state.loss)) parts.emplace_back("loss nan");
  if (known(state.loss)) parts.push_back(fmt::format("loss {:.4f}", state.loss));
  if (known(state.lr)) parts.push_back(fmt::format("lr {:.2e}", state.lr));
  if (known(state.grad_norm)) parts.push_back(fmt::format("norm {:.3f}", state.grad_norm));
  if (known(state.tokens_per_second)) {
    parts.push_back(fmt::format("{} tokens/s", short_number(state.tokens_per_second)));
  }
  if (known(state.bytes_per_second)) parts.push_back(short_number(state.bytes_per_second) + "B/s");
  if (known(state.seconds_left)) parts.push_back(fmt::format("{} left", clock_text(state.seconds_left)));
  return parts;
}

std::string joined(const std::vector<std::string>& parts, std::string text) {
  for (const std::string& part : parts) text += "  " + part;
  return text;
}

std::string bar(const ProgressState& state, std::size_t cells) {
  const double share = std::clamp(
      static_cast<double>(state.step) / static_cast<double>(std::max<std::int64_t>(state.total_steps, 1)),
      0.0, 1.0);
  const auto full = static_cast<std::size_t>(share * static_cast<double>(cells));
  std::string text(full, '=');
  if (full < cells) text += '>';
  text.resize(cells, ' ');
  return fmt::format("[{}] {:3.0f} %  ", text, std::floor(share * 100));
}

// Three digits, the last zeros too. Releases of fmt differ in what `{:#.3g}` makes of 250.
std::string three_digits(double value) {
  const double size = std::abs(value);
  return fmt::format("{:.{}f}", value, size < 9.995 ? 2 : size < 99.95 ? 1 : 0);
}

}  // namespace

std::string clock_text(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0) return "?";
  const long long whole = std::llround(std::min(seconds, 1e9));
  if (whole < 3600) return fmt::format("{}:{:02}", whole / 60, whole % 60);
  return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

std::string short_number(double value) {
  if (std::abs(value) < 999.5) return fmt::format("{:.3g}", value);
  for (const char* unit : {"k", "M", "G"}) {
    value /= 1000;
    if (std::abs(value) < 999.5) return three_digits(value) + unit;
  }
  return three_digits(value / 1000) + "T";
}

std::string size_text(std::uint64_t bytes) {
  return short_number(static_cast<double>(bytes)) + "B";
}

std::string progress_line(const ProgressState& state) {
  return joined(figures(state), counter(state));
}

std::string progress_bar(const ProgressState& state, int columns) {
  const auto width = static_cast<std::size_t>(std::max(columns, 1));
  const std::size_t frame = bar(state, 0).size() + 1;
  std::vector<std::string> parts = figures(state);
  std::string text = joined(parts, counter(state));
  while (!parts.empty() && text.size() + (state.total_steps > 0 ? frame + shortest_bar : 0) > width) {
    parts.pop_back();
    text = joined(parts, counter(state));
  }
  if (state.total_steps > 0 && text.size() + frame + shortest_bar <= width) {
    text = bar(state, std::min(width - text.size() - frame, longest_bar)) + text;
  }
  return text.substr(0, width);
}

ProgressDisplay::~ProgressDisplay() {
  leave_line();
}

void ProgressDisplay::update(const ProgressState& state) {
  const std::lock_guard lock(mutex_);
  state_ = state;
  drawn_current_ = false;
  const std::int64_t now = clock_.now_ns();
  const double period =
      options_.is_terminal ? options_.seconds_between_draws : options_.seconds_between_lines;
  const bool is_last = state.total_steps > 0 && state.step >= state.total_steps;
  if (drawn_once_ && !is_last && static_cast<double>(now - drawn_ns_) < period * 1e9) return;
  drawn_ns_ = now;
  draw();
}

void ProgressDisplay::draw() {
  drawn_once_ = true;
  drawn_current_ = true;
  if (options_.is_terminal) {
    // The last column stays free: a full line would wrap on some terminals.
    out_ << clear_line << progress_bar(state_, options_.columns - 1) << std::flush;
    bar_stands_ = true;
  } else {
    out_ << progress_line(state_) << '\n' << std::flush;
  }
}

void ProgressDisplay::leave_line() {
  const std::lock_guard lock(mutex_);
  if (!bar_stands_) return;
  out_ << clear_line << std::flush;
  bar_stands_ = false;
}

void ProgressDisplay::finish() {
  const std::lock_guard lock(mutex_);
  if (!drawn_current_ || (options_.is_terminal && drawn_once_ && !bar_stands_)) draw();
  if (bar_stands_) out_ << '\n' << std::flush;
  bar_stands_ = false;
}

}  // namespace d9d
