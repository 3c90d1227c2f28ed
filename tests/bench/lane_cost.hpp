#pragma once
// What two lanes of a rank cost, and what they hide.

#include <nlohmann/json.hpp>

namespace d9d {

// A forward and a backward, each of `rounds` times compute, then a collective, that sleep `milliseconds`
// each: one after the other and on two lanes, medians of `repeats`. And nanoseconds of a collective's two
// turn changes when no other lane runs, and when one does.
nlohmann::json measure_lanes(double milliseconds, int rounds, int repeats);
// The same on a delayed device, by its clock, where compute and collectives take `milliseconds` each: on one stream;
// with a compute stream for each stage, when one thread gives the parts; and when two lanes give them in turns.
nlohmann::json measure_streams(double milliseconds, int rounds);

}  // namespace d9d
