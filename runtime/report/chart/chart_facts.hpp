#pragma once
// Describes a curve in words.

#include <string>
#include <vector>

#include "runtime/report/chart/curves.hpp"

namespace d9d::report {

// First, last, lowest, highest; how many steps have no finite number, and the first of them.
std::string facts_of(const Curve& line);

// The same shorter, for one of several lines: "first -> last (lowest to highest)".
std::string brief_facts_of(const Curve& line);

std::vector<double> steps_without_number(const Curve& line);

}  // namespace d9d::report
