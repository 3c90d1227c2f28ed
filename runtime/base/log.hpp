#pragma once
// Logging with the place stamped on each line: rank, actor, step. Thread-safe; lines go to stderr.
// info: at most once a step. debug: per message. warn: the user should act. Numbers for people are metrics.

#include <fmt/format.h>

#include <functional>
#include <string>
#include <string_view>
#include <utility>

namespace d9d::log {

enum class Level { debug, info, warn, error, off };

void set_level(Level level);
// "debug", "info", "warn", "error" or "off"; anything else is an input error that names them.
Level level_from(std::string_view text);
bool enabled(Level level);
void write(Level level, std::string_view text);

// Stamps a place on the lines of this thread while it is alive. The handler wrapper of
// an actor makes one.
class Place {
 public:
  explicit Place(std::string place);
  ~Place();
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;

 private:
  std::string before_;
};

// Sets a hook that runs before each line is printed, so that a progress bar can leave the line. An
// empty hook removes it. Lines of other threads wait while it runs.
void set_before_line(std::function<void()> hook);

template <class... Args>
void debug(fmt::format_string<Args...> text, Args&&... args) {
  if (enabled(Level::debug)) write(Level::debug, fmt::format(text, std::forward<Args>(args)...));
}
template <class... Args>
void info(fmt::format_string<Args...> text, Args&&... args) {
  if (enabled(Level::info)) write(Level::info, fmt::format(text, std::forward<Args>(args)...));
}
template <class... Args>
void warn(fmt::format_string<Args...> text, Args&&... args) {
  write(Level::warn, fmt::format(text, std::forward<Args>(args)...));
}
template <class... Args>
void error(fmt::format_string<Args...> text, Args&&... args) {
  write(Level::error, fmt::format(text, std::forward<Args>(args)...));
}

}  // namespace d9d::log
