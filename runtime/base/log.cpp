#include "runtime/base/log.hpp"

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <memory>
#include <mutex>

#include "runtime/base/error.hpp"
#include "runtime/base/log_copy.hpp"
#include "runtime/base/log_file.hpp"
#include "runtime/base/log_place.hpp"

namespace d9d::log {
namespace {

thread_local std::string current_place;
thread_local const std::uint64_t* current_step = nullptr;
thread_local std::string_view current_coordinates;
std::mutex before_line_mutex;
std::function<void()> before_line;

spdlog::level::level_enum to_spdlog(Level level) {
  switch (level) {
    case Level::debug:
      return spdlog::level::debug;
    case Level::info:
      return spdlog::level::info;
    case Level::warn:
      return spdlog::level::warn;
    case Level::error:
      return spdlog::level::err;
    case Level::off:
      return spdlog::level::off;
  }
  D9D_CHECK(false, "no log level {}", static_cast<int>(level));
}

const std::shared_ptr<LogCopy>& copy() {
  static const auto instance = std::make_shared<LogCopy>();
  return instance;
}

// spdlog's logger is the one shared sink of the process; it is made on first use and locks inside.
spdlog::logger& logger() {
  static const std::shared_ptr<spdlog::logger> instance = [] {
    auto made = spdlog::stderr_color_mt("d9d");
    made->sinks().push_back(copy());
    made->set_pattern("%Y-%m-%d %H:%M:%S.%e %^%l%$ %v");
    return made;
  }();
  return *instance;
}

}  // namespace

void set_level(Level level) {
  logger().set_level(to_spdlog(level));
}

Level level_from(std::string_view text) {
  if (text == "debug") return Level::debug;
  if (text == "info") return Level::info;
  if (text == "warn") return Level::warn;
  if (text == "error") return Level::error;
  if (text == "off") return Level::off;
  throw Error(ErrorKind::input,
              fmt::format("unknown log level \"{}\"; choose debug, info, warn, error or off", text));
}

void copy_to(const std::filesystem::path& file, std::uint64_t bytes_max) {
  logger();
  copy()->open(file, bytes_max);
}

void stop_copying() {
  copy()->close();
}

bool enabled(Level level) {
  return logger().should_log(to_spdlog(level));
}

void write(Level level, std::string_view text) {
  {
    const std::lock_guard lock(before_line_mutex);
    if (before_line) before_line();
  }
  if (current_place.empty()) {
    logger().log(to_spdlog(level), text);
  } else {
    logger().log(to_spdlog(level), "[{}] {}", place(), text);
  }
}

Place::Place(std::string place) : before_(std::move(current_place)) {
  current_place = std::move(place);
}

Place::~Place() {
  current_place = std::move(before_);
}

StepOfPlace::StepOfPlace(const std::uint64_t& step, std::string_view coordinates)
    : step_before_(std::exchange(current_step, &step)),
      coordinates_before_(std::exchange(current_coordinates, coordinates)) {}

StepOfPlace::~StepOfPlace() {
  current_step = step_before_;
  current_coordinates = coordinates_before_;
}

std::string place() {
  std::string text = current_place;
  if (!current_coordinates.empty()) text.append(" ").append(current_coordinates);
  const std::uint64_t step = current_step == nullptr ? 0 : *current_step;
  return step == 0 ? text : fmt::format("{}, step {}", text, step);
}

void set_before_line(std::function<void()> hook) {
  const std::lock_guard lock(before_line_mutex);
  before_line = std::move(hook);
}

}  // namespace d9d::log
