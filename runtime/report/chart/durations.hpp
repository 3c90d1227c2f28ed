#pragma once
// Seconds as people read them.

#include <string>

namespace d9d::report {

std::string duration_text(double seconds);   // "2 min 22 s", "1 h 3 min", "45.2 s", "3.1 ms"
std::string short_duration(double seconds);  // "2.4 min", "1.1 h", "45 s": for an axis
// "2026-11-22 19:28 UTC"; of seconds since 1970.
std::string date_text(double seconds);

}  // namespace d9d::report
