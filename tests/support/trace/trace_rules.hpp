#pragma once
// What readers of traces rely on: the document "Trace Event Format" and what Perfetto's importer drops.
//   - times and durations are numbers of at least 0
//   - every process and thread that has events is named, once
//   - slices of a thread nest: they lie one in the other or beside each other
//   - a flow has one start and one end under its id, the start comes first, and both lie within slices of their threads
//   - counters have numbers (null: not a number)

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace d9d::test {

// A sentence for each event that breaks one.
std::vector<std::string> broken_trace_rules(const nlohmann::json& document);

}  // namespace d9d::test
