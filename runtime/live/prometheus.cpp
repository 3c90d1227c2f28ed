#include "runtime/live/prometheus.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>

namespace d9d::live {
namespace {

std::string label_text(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '\n') {
      escaped += "\\n";
      continue;
    }
    if (c == '"' || c == '\\') escaped += '\\';
    escaped += c;
  }
  return escaped;
}

std::string number_text(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  return fmt::format("{}", value);
}

// What may be the name of a metric of its own: a name that no other one becomes.
bool is_plain(const std::string& name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return std::islower(c) != 0 || std::isdigit(c) != 0 || c == '_';
  });
}

std::string gauge(const std::string& name, const std::string& help) {
  return fmt::format("# HELP {} {}\n# TYPE {} gauge\n", name, help, name);
}

}  // namespace

std::string prometheus_text(const std::string& run, const Values& values, bool is_asleep) {
  const std::string label = fmt::format("run=\"{}\"", label_text(run));
  std::int64_t step = 0;
  std::string plain, named;
  for (const auto& [name, value] : values) {
    step = std::max(step, value.step);
    if (is_plain(name) && name != "step" && name != "metric" && name != "asleep") {
      plain += gauge("d9d_" + name, "newest " + name + " of the run") +
               fmt::format("d9d_{}{{{}}} {}\n", name, label, number_text(value.value));
    } else {
      named +=
          fmt::format("d9d_metric{{{},name=\"{}\"}} {}\n", label, label_text(name), number_text(value.value));
    }
  }
  std::string text =
      gauge("d9d_step", "steps that are done") + fmt::format("d9d_step{{{}}} {}\n", label, step);
  text += gauge("d9d_asleep", "1 while the job sleeps without its memory") +
          fmt::format("d9d_asleep{{{}}} {}\n", label, is_asleep ? 1 : 0) + plain;
  if (!named.empty())
    text += gauge("d9d_metric", "newest value of a task's or an evaluation's number") + named;
  return text;
}

void LiveValues::put(const std::string& name, Value value) {
  const std::lock_guard lock(mutex_);
  values_[name] = value;
}

Values LiveValues::all() const {
  const std::lock_guard lock(mutex_);
  return values_;
}

}  // namespace d9d::live
